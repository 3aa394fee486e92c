"""From atoms and the costs of cuts to chunks, by dynamic programming under the cap.

The best segmentation of a run is found from the best ones of its beginnings
(Bellman, 1961, "On the approximation of curves by line segments using dynamic
programming"). A chunk holds at most the cap, so each atom looks back over a bounded
number of others and the whole is linear in the text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from math import log

from chunking.atoms import Atoms
from chunking.bonds import BOND, WHOLE
from chunking.costs import MINIMUM, Costs
from chunking.settings import ChunkingSettings

__all__ = ["Limits", "pack", "pack_greedily", "size_costs"]

Cohesion = Callable[[int, Sequence[int]], Iterator[Sequence[float]]]
"""``cohesion(start, firsts)`` yields, for each end i = 1, 2, ... of the run that begins at
atom ``start``, the costs of its chunks ``[j, i)`` for j = i - 1 down to ``firsts[i - 1]``."""

_TIE = 1e-9

_FAR = 3.0
"""Beyond so many targets above the target, each more matters less."""

_AS_GOOD = 0.3
"""Cuts that cost hardly more than the cheapest one are as good to greedy packing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """A target in characters: ``amount``, less what overlap takes at each atom in ``taken``.

    ``ends``: where the visible text before each cut ends.
    """

    amount: int
    ends: list[int] = field(repr=False)
    taken: list[int] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What packing must keep: sizes in tokens, prompt and special tokens in ``special``.

    ``soft`` and ``due``: estimated prefix of a chunk that starts at each atom, and the
    part of it that must fit. ``by_size``: the cost of a chunk by its size. ``chars``:
    for greedy packing, a target in characters instead of the one in tokens.
    """

    cap: int
    target: int
    special: int
    soft: list[int] = field(repr=False)
    due: list[int] = field(repr=False)
    by_size: Sequence[float] = field(repr=False)
    min_atoms: int = 1
    cohesion: Cohesion | None = None
    chars: Fill | None = None


def size_costs(settings: ChunkingSettings, cap: int, target: int) -> list[float]:
    """Return the cost of a chunk for each size from 0 to twice the cap.

    Quadratic around the target, and logarithmic from four times the target on, so that no
    target outbids a law; much more below the minimum; above the cap a prefix would have
    to be trimmed, which costs something.
    """
    costs = []
    target = max(1, target)
    # Where the estimates are far off, what is left of the cap may be less than nothing.
    for size in range(2 * max(cap, 0) + 2):
        off = (size - target) / target
        cost = off**2
        if off > _FAR:
            cost = _FAR**2 * (1.0 + 2.0 * log(off / _FAR))
        if size < settings.min_tokens:
            cost += MINIMUM * (1.0 + (settings.min_tokens - size) / settings.min_tokens)
        if size > cap:
            cost += 0.5
        costs.append(cost)
    return costs


def pack(atoms: Atoms, costs: Costs, limits: Limits, start: int, end: int) -> list[int]:
    """Return the ends of the cheapest chunks of atoms ``[start, end)``; the last is ``end``."""
    by_size, top, min_atoms = limits.by_size, len(limits.by_size) - 1, limits.min_atoms
    room = limits.cap - limits.special
    # The run by itself: index 0 is its first atom. The innermost loop only adds and compares.
    sizes = atoms.sizes[start : end + 1]
    soft, due = limits.soft[start:end], limits.due[start:end]
    highest = [size + room - held for size, held in zip(sizes, due, strict=False)]
    offsets = [ahead + limits.special - size for size, ahead in zip(sizes, soft, strict=False)]
    firsts = _firsts(sizes, room)
    extras = limits.cohesion(start, firsts) if limits.cohesion else repeat(None)
    best = [0.0]
    origin = [0]
    for i, extra in zip(range(1, len(sizes)), extras, strict=False):
        size, last = sizes[i], i - 1
        lowest, at = float("inf"), last
        for j in range(last, firsts[last] - 1, -1):
            if size > highest[j] and j < last:
                continue
            total = size + offsets[j]
            cost = best[j] + by_size[total if total < top else top]  # noqa: FURB136 - innermost loop
            if extra is not None:
                cost += extra[last - j]
            if i - j < min_atoms:
                cost += SHORT
            if cost < lowest - _TIE:
                lowest, at = cost, j
        best.append(lowest + costs.cut[start + i])
        origin.append(at)
    return [start + at for at in _ends(origin)]


def _firsts(sizes: Sequence[int], room: int) -> list[int]:
    """Return, for each end from 1 on, the first start of a chunk that may hold the cap.

    Atoms without tokens are many in no chunk either: a chunk has at most as many atoms
    as it may have tokens.
    """
    firsts = []
    first = 0
    for i in range(1, len(sizes)):
        size, least = sizes[i] - room, i - max(room, 1)
        while first < i - 1 and (sizes[first] < size or first < least):
            first += 1
        firsts.append(first)
    return firsts


SHORT = 2.0 * 100.0
"""Cost of a chunk with too few sentences: more than one boundary is worth."""


def _ends(origin: Sequence[int]) -> list[int]:
    """Return the ends of the chunks that lead to the last atom; ``origin``: starts by end."""
    ends = []
    at = len(origin) - 1
    while at > 0:
        ends.append(at)
        at = origin[at]
    ends.reverse()
    return ends


def pack_greedily(atoms: Atoms, costs: Costs, limits: Limits, start: int, end: int) -> list[int]:
    """Return the ends of chunks filled one after another up to the target.

    The last cut is taken that is about as good as any in the second half of the chunk,
    as long as it tears nothing apart; else the nearest one that does not, before the
    target or after it under the cap; else one that breaks no law; else the cheapest.
    """
    ends = []
    while start < end:
        start = _greedy_end(atoms, costs, limits, start, end)
        ends.append(start)
    return ends


def _greedy_end(atoms: Atoms, costs: Costs, limits: Limits, start: int, end: int) -> int:
    sizes, cut = atoms.sizes, costs.cut
    base = sizes[start] - limits.due[start] - limits.special
    last = start + 1
    while last < end and sizes[last + 1] - base <= limits.cap:
        last += 1
    aim = _aim(atoms, limits, start, last)
    if aim == end:
        return end
    half = bisect_left(sizes, (sizes[start] + sizes[aim]) // 2, start + 1, aim)
    enough = min(cut[half : aim + 1]) + _AS_GOOD
    if enough < BOND:
        return next(i for i in range(aim, half - 1, -1) if cut[i] <= enough)
    # What tears nothing apart, then what breaks no law; before the target, then after it.
    for bound in (BOND, WHOLE / 2):
        for i in chain(range(aim, start, -1), range(aim + 1, last + 1)):
            if i == end or cut[i] < bound:
                return i
    return min(range(start + 1, last + 1), key=lambda i: (cut[i], -i))


def _aim(atoms: Atoms, limits: Limits, start: int, last: int) -> int:
    """Return the end of the fullest chunk from ``start`` that does not exceed the target."""
    sizes, chars, aim = atoms.sizes, limits.chars, start + 1
    if chars is not None:
        top = atoms.starts[start] + chars.amount - chars.taken[start]
        while aim < last and chars.ends[aim + 1] <= top:
            aim += 1
        return aim
    top = limits.target + sizes[start] - limits.soft[start] - limits.special
    while aim < last and sizes[aim + 1] <= top:
        aim += 1
    return aim
