"""The pieces that packing never cuts: sentences, rows, lines, and parts where it must.

Atoms partition the whole text, gaps included, by the starts of blocks and units;
whatever packing does with them, nothing can be lost. Sizes are estimates from the
document's own tokens; the exact count comes later.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from chunking.layout import Layout, is_heading, row_bounds
from chunking.model import Block
from chunking.splitting import span_of, token_cuts
from chunking.tables import read_wide_rows, row_groups

__all__ = ["BLOCK", "INNER", "PIECE", "SECTION", "SENTENCE", "Atoms", "build_atoms", "refine"]

SECTION, BLOCK, SENTENCE, PIECE, INNER = range(5)
"""Levels of a cut: before a heading, a block, a sentence (row, line), a unit, inside a unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Atoms:
    """n atoms; ``starts``, ``sizes``, ``tokens`` and ``units`` have n + 1 entries.

    ``levels``: of the cut before each atom. ``sizes``: running sum of estimated tokens.
    ``tokens``, ``units``: the first token and unit at or after each start;
    ``aligned``: whether the atom starts where that unit does.
    """

    starts: list[int] = field(repr=False)
    levels: list[int] = field(repr=False)
    blocks: list[int] = field(repr=False)
    sizes: list[int] = field(repr=False)
    tokens: list[int] = field(repr=False)
    units: list[int] = field(repr=False)
    aligned: list[bool] = field(repr=False)

    def __len__(self) -> int:
        return len(self.levels)


def build_atoms(layout: Layout) -> Atoms:
    """Return the atoms of a document."""
    starts: list[int] = []
    levels: list[int] = []
    blocks: list[int] = []
    unit_starts = layout.unit_starts
    position = 0
    heading_before = False
    for block in layout.document.blocks:
        first = position
        while position < len(unit_starts) and unit_starts[position] < block.end:
            position += 1
        inner = _inner_cuts(layout, block, first, position)
        heading = is_heading(block)
        starts.append(block.start)
        levels.append(SECTION if heading and not heading_before else BLOCK)
        for at, level in inner:
            starts.append(at)
            levels.append(level)
        blocks.extend([block.index] * (len(inner) + 1))
        heading_before = heading
    return refine_large(layout, _measure(layout, starts, levels, blocks))


def _inner_cuts(layout: Layout, block: Block, first: int, last: int) -> list[tuple[int, int]]:
    """Return the cuts inside a block with their levels, in order; no piece is blank."""
    if block.kind in ("table", "code"):
        cuts = _lines(layout, block)
    elif layout.marks or layout.closed:
        cuts = _marked(layout, block, first, last)
    else:
        cuts = _sentences(layout, first, last)
    levels = dict(reversed(cuts))
    kept = _visible_cuts(layout, [at for at, _ in cuts], block.start, block.end)
    return [(at, levels[at]) for at in kept]


def _sentences(layout: Layout, first: int, last: int) -> list[tuple[int, int]]:
    units = layout.units[first:last]
    return [(unit.start, PIECE if unit.piece else SENTENCE) for unit in units]


def _marked(layout: Layout, block: Block, first: int, last: int) -> list[tuple[int, int]]:
    """Return the cuts of plain text under a named hierarchy: its marks, else sentences."""
    levels = {
        at: level
        for at, level in _sentences(layout, first, last)
        if not bisect_right(layout.closed, at - 1) % 2
    }
    low, high = (
        bisect_left(layout.mark_starts, block.start),
        bisect_left(layout.mark_starts, block.end),
    )
    levels.update((at, SENTENCE) for at in layout.mark_starts[low:high])
    return sorted(levels.items())


def _lines(layout: Layout, block: Block) -> list[tuple[int, int]]:
    """Return the cuts at lines, and inside those lines that exceed the cap alone."""
    text = layout.document.text
    cuts: list[tuple[int, int]] = []
    wide = read_wide_rows(layout, block)
    for start, end in pairwise(row_bounds(text, block)):
        cuts.append((start, SENTENCE))
        if start in layout.unfit:
            inner = (
                row_groups(layout, wide, start, end)[1:]
                if wide is not None
                else layout.units_between(start, end)
            )
            cuts.extend((at, PIECE) for at in inner)
    return cuts


def _measure(layout: Layout, starts: list[int], levels: list[int], blocks: list[int]) -> Atoms:
    """Attach tokens, units and estimated sizes to the starts of atoms."""
    bounds = np.asarray([*starts, len(layout.document.text)], dtype=np.int64)
    units = np.searchsorted(np.asarray(layout.unit_starts, dtype=np.int64), bounds, side="left")
    tokens = np.searchsorted(layout.tokens.starts, bounds, side="left")
    ends = np.asarray([0, *(unit.end for unit in layout.units)], dtype=np.int64)
    firsts = np.asarray(
        [*(unit.token_start for unit in layout.units), len(layout.tokens.ids)], dtype=np.int64
    )
    # A blank between two units may hold a token of the first; the cut goes behind it.
    aligned = ends[units] <= bounds
    tokens[aligned] = firsts[units[aligned]]
    tokens[0], tokens[-1] = 0, len(layout.tokens.ids)
    tokens = np.maximum.accumulate(tokens)
    return Atoms(
        starts=bounds.tolist(),
        levels=levels,
        blocks=blocks,
        sizes=_scaled(layout, blocks, tokens.tolist()),
        tokens=tokens.tolist(),
        units=units.tolist(),
        aligned=aligned.tolist(),
    )


def _scaled(layout: Layout, blocks: list[int], tokens: list[int]) -> list[int]:
    """Return sizes in which blocks whose exact size is known sum up to it."""
    sizes = list(tokens)
    shift, at, n = 0, 0, len(blocks)
    while at < n:
        end = at
        while end < n and blocks[end] == blocks[at]:
            end += 1
        exact = layout.exact_sizes.get(blocks[at])
        base, estimate = tokens[at], tokens[end] - tokens[at]
        for i in range(at, end):
            inner = tokens[i] - base
            if exact is not None and estimate:
                inner = inner * exact // estimate
            sizes[i] = base + inner + shift
        if exact is not None:
            shift += exact - estimate
        at = end
    sizes[n] = tokens[n] + shift
    return sizes


def refine_large(layout: Layout, atoms: Atoms) -> Atoms:
    """Cut atoms above the cap, and first sentences that leave no room for their heading."""
    wanted: dict[int, list[int]] = {}
    run = last = 0
    room = layout.cap - layout.special
    for i in range(len(atoms)):
        block = layout.document.blocks[atoms.blocks[i]]
        size = atoms.sizes[i + 1] - atoms.sizes[i]
        left = room
        if is_heading(block):
            run += size
            last = size + (last if i and atoms.blocks[i - 1] == atoms.blocks[i] else 0)
        else:
            # Of headings in a row that exceed the cap, the last one keeps its text.
            held = run if run < room else last
            if 0 < held < room and layout.divisible(block):
                left = room - held
            run = last = 0
        if size > left:
            wanted[i] = _token_cuts(layout, atoms, i, room, left)
    return refine(layout, atoms, wanted)


def _token_cuts(layout: Layout, atoms: Atoms, i: int, limit: int, first: int) -> list[int]:
    return token_cuts(
        layout.document.text,
        layout.tokens,
        *span_of(layout.document.text, atoms.starts[i], atoms.starts[i + 1]),
        limit=max(1, limit),
        first=max(1, first),
    )


def refine(layout: Layout, atoms: Atoms, wanted: Mapping[int, Sequence[int]]) -> Atoms:
    """Return atoms with atom i also cut at the positions ``wanted[i]``; no piece is blank."""
    if not any(wanted.values()):
        return atoms
    starts: list[int] = []
    levels: list[int] = []
    blocks: list[int] = []
    for i in range(len(atoms)):
        cuts = _visible_cuts(layout, wanted.get(i, ()), atoms.starts[i], atoms.starts[i + 1])
        starts.append(atoms.starts[i])
        starts.extend(cuts)
        levels.append(atoms.levels[i])
        levels.extend([INNER] * len(cuts))
        blocks.extend([atoms.blocks[i]] * (len(cuts) + 1))
    return _measure(layout, starts, levels, blocks)


def _visible_cuts(layout: Layout, cuts: Sequence[int], start: int, end: int) -> list[int]:
    """Return the cuts inside ``[start, end)`` that have visible text before them."""
    kept: list[int] = []
    for at in cuts:
        if start < at < end and not layout.document.text[start:at].isspace():
            kept.append(at)
            start = at
    return kept
