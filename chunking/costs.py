"""What a cut costs, by the laws of chunking and by strategy.

Packing minimises a sum; a law that stands earlier has a weight that outbids every
sum of later ones that can be at stake in one chunk. The order of weights is the
order of the laws: rows and lines are atoms (never cut), then headings, cuts inside
units, whole tables and code, the minimum. What is left is weighed against each other:
the strategy's own boundaries, the ends of paragraphs, the target.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chunking.atoms import BLOCK, PIECE, SECTION, SENTENCE, Atoms
from chunking.bonds import add_bonds
from chunking.distances import exceeds, threshold
from chunking.layout import Layout, is_heading
from chunking.model import Block

__all__ = ["MINIMUM", "Costs", "Signal", "cut_costs", "read_signal"]

UNIT = 2e5
MINIMUM = 1e3
_PIECE = 20.0

_BY_LEVEL = {
    "fixed": (0.0, 0.0, 0.0, 0.0),
    "recursive": (0.0, -0.4, 0.2, _PIECE),
    "structural": (-0.9, -0.3, 0.2, _PIECE),
    "semantic": (0.0, 0.0, 0.4, _PIECE),
    "optimal": (0.0, 0.0, 0.05, _PIECE),
}
"""Cost of a cut at SECTION, BLOCK, SENTENCE, PIECE; INNER costs :data:`UNIT`.

For scale: a chunk of half or one and a half times the target costs 0.25.
"""

_PARAGRAPH = 0.3
"""What a cut between two paragraphs of the target's size is worth."""

_WRAPPED = 120
"""Lines of wrapped text are shorter, in characters; where they are longer on average,
each is a paragraph."""

_NEAR = 0.3
_BOUNDARY = 0.1
_EXCESS = 1.0
_STRONGEST = 2.0
"""What a cut is worth to ``semantic``: up to ``_NEAR`` at the threshold, ``_BOUNDARY``
more above it, and ``_EXCESS`` for each threshold's worth of distance beyond, up to
``_STRONGEST`` in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Distances at the cuts where a unit ends, by unit: ``values[i]`` follows unit i.

    ``over``: where the strategy places a boundary. ``limit``: the threshold; None
    where the strategy has none.
    """

    values: NDArray[np.float64] = field(repr=False)
    over: NDArray[np.bool_] = field(repr=False)
    limit: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """``cut[i]``: of a cut before atom i; ``runs``: bounds that are always cut."""

    cut: list[float] = field(repr=False)
    runs: list[int] = field(repr=False)


def read_signal(layout: Layout, values: NDArray[np.float64], *, thresholded: bool) -> Signal:
    """Apply the threshold to the distances between sentences of prose.

    Distances at headings, and inside tables and code, place no boundary of their own
    and are left out of the threshold's statistics.
    """
    over = np.zeros(len(values), dtype=bool)
    if not thresholded:
        return Signal(values=values, over=over, limit=None)
    kinds = [block.kind for block in layout.document.blocks]
    closed = np.asarray([kind in ("table", "code") for kind in kinds], dtype=bool)
    heading = np.asarray([is_heading(block) for block in layout.document.blocks], dtype=bool)
    blocks = np.asarray([unit.block for unit in layout.units], dtype=np.int64)
    left, right = blocks[:-1], blocks[1:]
    open_ = ~(heading[left] | heading[right] | (closed[left] & (left == right)))
    settings = layout.settings
    limit = threshold(values[open_], settings.threshold_type, settings.threshold_amount)
    over[open_] = exceeds(values[open_], settings.threshold_type, limit)
    return Signal(values=values, over=over, limit=limit)


def cut_costs(layout: Layout, atoms: Atoms, strategy: str, signal: Signal | None) -> Costs:
    """Return the costs of all cuts for a strategy."""
    by_level = (*_BY_LEVEL[strategy], UNIT)
    levels = atoms.levels
    cut = [by_level[level] for level in levels]
    if strategy == "semantic" and signal is not None:
        _add_distances(atoms, signal, cut)
    if strategy != "fixed":
        _add_paragraphs(layout, atoms, cut)
    add_bonds(layout, atoms, cut, strategy)
    if layout.marks:
        _add_marks(layout, atoms, cut, by_level)
    cut.append(0.0)
    sections = strategy not in ("fixed", "structural")
    runs = [i for i, level in enumerate(levels) if level == SECTION] if sections else []
    if parted := _wide_rows(layout, atoms):
        runs = sorted({*runs, *parted})
    if not runs or runs[0]:
        runs.insert(0, 0)
    runs.append(len(atoms))
    return Costs(cut=cut, runs=runs)


def _add_marks(layout: Layout, atoms: Atoms, cut: list[float], by_level: tuple[float, ...]) -> None:
    """Let cuts of plain text cost what a named hierarchy says, beyond one between blocks."""
    kinds = [block.kind for block in layout.document.blocks]
    for i, at in enumerate(atoms.starts[:-1]):
        if at in layout.marks and kinds[atoms.blocks[i]] not in ("table", "code"):
            cut[i] += by_level[BLOCK] - by_level[atoms.levels[i]] + layout.marks[at]


def _wide_rows(layout: Layout, atoms: Atoms) -> list[int]:
    """Return the cuts between the groups of cells of rows that exceed the cap, and after them.

    Each group stands under the header cells of its own columns, so none goes with another.
    """
    if not layout.unfit:
        return []
    blocks, of, levels = layout.document.blocks, atoms.blocks, atoms.levels
    return [
        i
        for i in range(1, len(atoms))
        if PIECE in (levels[i], levels[i - 1])
        and of[i] == of[i - 1]
        and blocks[of[i]].kind == "table"
    ]


def _add_distances(atoms: Atoms, signal: Signal, cut: list[float]) -> None:
    """Reward the strategy's boundaries, the farther above the threshold, the more."""
    found = signal.values[signal.over]
    # The threshold of a gradient is no distance; the least distance at a boundary is.
    least = found.min() if len(found) else signal.values.max(initial=0.0)
    scale = float(least) or 1.0
    values, over = signal.values.tolist(), signal.over.tolist()
    for i in range(1, len(atoms)):
        unit = atoms.units[i] - 1
        if not atoms.aligned[i] or not 0 <= unit < len(values) or atoms.levels[i] > SENTENCE:
            continue
        ratio = values[unit] / scale
        worth = _NEAR * min(ratio, 1.0)
        if over[unit]:
            worth += _BOUNDARY + _EXCESS * max(ratio - 1.0, 0.0)
        cut[i] -= min(worth, _STRONGEST)


def _add_paragraphs(layout: Layout, atoms: Atoms, cut: list[float]) -> None:
    """Reward cuts between paragraphs by the smaller of the two, up to the target.

    The end of a long paragraph is a turn of thought; that of a line of dialogue, a list
    item or a one-sentence paragraph is hardly more than the end of a sentence.
    """
    sizes, full = atoms.sizes, max(1, layout.settings.target_tokens)
    bounds = [0, *_paragraph_ends(layout, atoms), len(atoms)]
    shares = [min((sizes[end] - sizes[start]) / full, 1.0) for start, end in pairwise(bounds)]
    for i, (before, after) in zip(bounds[1:-1], pairwise(shares), strict=True):
        cut[i] -= _PARAGRAPH * min(before, after)


def _paragraph_ends(layout: Layout, atoms: Atoms) -> list[int]:
    """Return the cuts where a paragraph ends; a heading belongs to the one below it."""
    blocks, of, text = layout.document.blocks, atoms.blocks, layout.document.text
    ends = []
    lines = _is_unwrapped(text, blocks[of[0]]) if of else False
    for i in range(1, len(atoms)):
        if of[i] != of[i - 1]:
            lines = _is_unwrapped(text, blocks[of[i]])
            if not is_heading(blocks[of[i - 1]]):
                ends.append(i)
        elif lines and atoms.levels[i] == SENTENCE and atoms.aligned[i]:
            unit = layout.units[atoms.units[i] - 1]
            if "\n" in text[unit.end : atoms.starts[i]]:
                ends.append(i)
    return ends


def _is_unwrapped(text: str, block: Block) -> bool:
    """Return whether each line of a block of prose is a paragraph of its own."""
    if block.kind in ("table", "code"):
        return False
    n_lines = text.count("\n", block.start, block.end) + 1
    return block.end - block.start > _WRAPPED * n_lines
