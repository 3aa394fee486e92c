"""What belongs together whatever the strategy: the laws of chunking as costs of cuts.

A heading and its text, a table and its caption, a list and the line that announces
it, a definition and its decorator: a cut between them costs the more, the more it
would tear apart. A law that stands earlier outbids every sum of later ones that can
be at stake in one chunk.
"""

from __future__ import annotations

from chunking.atoms import BLOCK, SECTION, SENTENCE, Atoms
from chunking.code import line_costs
from chunking.layout import Layout, header_end, is_heading
from chunking.model import Block

__all__ = ["BOND", "WHOLE", "add_bonds"]

HEADING = 1e6
_HEADINGS = 0.6 * HEADING
"""Of headings in a row that exceed the cap, the last one stays with its text."""
HEADER_ROW = 4e4
WHOLE = 1e4
BOND = 2.0
"""A cut that costs less tears nothing apart."""

# For scale: a chunk of twice the target costs 1, a boundary of ``semantic`` earns up to 2.
_CAPTION = 5.0
_LEAD_IN = 3.0
_ITEM = 6.0
_NESTED = 2.0
_DEEPER_ITEM = 0.2
_NOTE = 1.0
_SPOKEN = 4.0
_KEPT = 2.0
_LINE = -0.3
_OUTER_SECTION = -0.4
_CHILD_SECTION = 0.15

_COLONS = ":\uff1a"
_ANNOUNCED = frozenset({"list_item", "table", "code", "formula", "picture"})
_CAPTIONED = frozenset({"table", "picture", "code", "formula"})
_ONE_PIECE = frozenset({"list_item", "footnote", "caption", "picture"})
_PROSE = frozenset({"paragraph", "other"})


def add_bonds(layout: Layout, atoms: Atoms, cut: list[float], strategy: str) -> None:
    """Add to the cost of each cut what it tears apart."""
    blocks, of = layout.document.blocks, atoms.blocks
    n, first = len(atoms), 0
    while first < n:
        index = of[first]
        end = first + 1
        while end < n and of[end] == index:
            end += 1
        block = blocks[index]
        if first:
            before = blocks[of[first - 1]]
            cut[first] += _between(layout.document.text, before, block)
            if strategy == "structural" and atoms.levels[first] == SECTION:
                cut[first] += _section(before, block)
        if end - first > 1:
            _add_inside(layout, atoms, cut, strategy, first, end)
        first = end


def _between(text: str, before: Block, block: Block) -> float:
    """Return the cost of parting two neighbouring blocks."""
    if is_heading(before):
        return _HEADINGS if is_heading(block) else HEADING
    kind = block.kind
    cost = 0.0
    if kind in _ANNOUNCED and text[before.end - 1] in _COLONS:
        cost += _LEAD_IN
    if "caption" in (before.kind, kind) and (before.kind in _CAPTIONED or kind in _CAPTIONED):
        cost += _CAPTION
    if kind == "list_item" and before.kind == "list_item":
        level, outer = block.level or 1, before.level or 1
        cost += _NESTED if level > outer else _DEEPER_ITEM * min(level - 1, 4)
    elif kind == "footnote" and before.kind != "footnote":
        cost += _NOTE
    elif kind == "other" and before.kind != "other" and before.page_end is not None:
        # A speaker's notes follow the text of their slide.
        cost += _SPOKEN * (before.page_end == block.page_start)
    return cost


def _section(before: Block, heading: Block) -> float:
    """Return what speaks for a cut between two sections: least between parent and child."""
    steps = len(before.heading_path) - len(heading.heading_path) - 1
    return _CHILD_SECTION if steps < 0 else _OUTER_SECTION * steps


def _add_inside(  # noqa: PLR0917 - one block of atoms
    layout: Layout, atoms: Atoms, cut: list[float], strategy: str, first: int, end: int
) -> None:
    """Add what the cuts inside one block tear apart."""
    block = layout.document.blocks[atoms.blocks[first]]
    cost = _inner_cost(layout, block, strategy, atoms.sizes[end] - atoms.sizes[first])
    if cost:
        for i in range(first + 1, end):
            cut[i] += cost
    if block.kind == "table":
        head = header_end(layout.document.text, block)
        for i in range(first + 1, end):
            if atoms.starts[i] == head:
                cut[i] += HEADER_ROW
    elif block.kind == "code":
        lines = [i for i in range(first, end) if atoms.levels[i] in (BLOCK, SECTION, SENTENCE)]
        costs = line_costs(layout.document.text, [atoms.starts[i] for i in lines], block.end)
        for i, line_cost in zip(lines[1:], costs[1:], strict=True):
            cut[i] += line_cost
    elif strategy == "recursive" and not cost:
        for i in range(first + 1, end):
            if layout.document.text[atoms.starts[i] - 1] == "\n":
                cut[i] += _LINE


def _inner_cost(layout: Layout, block: Block, strategy: str, size: int) -> float:
    """Return what every cut inside a block costs beyond its place; 0 where it must be cut."""
    if block.kind in ("table", "code"):
        return WHOLE if block.index in layout.whole else 0.0
    if size + layout.special > layout.cap:
        return 0.0
    if block.kind == "formula" or is_heading(block):
        return WHOLE
    if block.kind in _ONE_PIECE:
        return _ITEM
    return _KEPT if strategy == "recursive" and block.kind in _PROSE else 0.0
