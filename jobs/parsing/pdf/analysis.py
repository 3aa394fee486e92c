"""The layout of a whole PDF: furniture apart, blocks in reading order, heading levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobs.parsing.pdf.blocks import (
    Block,
    BlockKind,
    Vocabulary,
    join_across,
    region_blocks,
)
from jobs.parsing.pdf.captions import with_captions
from jobs.parsing.pdf.finder import find_tables, rules_of, split_region
from jobs.parsing.pdf.footnotes import with_footnotes
from jobs.parsing.pdf.furniture import furniture_of
from jobs.parsing.pdf.headings import checked_headings, levels_of, title_of
from jobs.parsing.pdf.lines import Line, PageText, body_size
from jobs.parsing.pdf.lists import checked_items
from jobs.parsing.pdf.order import read_in_order, with_tables
from jobs.parsing.pdf.outline import Entry, with_outline
from jobs.parsing.pdf.table_blocks import join_tables, table_block
from jobs.parsing.pdf.tables import place_holders

__all__ = ["Layout", "analyse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The blocks of a document in reading order.

    ``levels``: per heading's position in ``blocks``, its level from 1. ``title``: the
    position of the heading that is the document's title, if one stands out.
    """

    blocks: tuple[Block, ...]
    levels: Mapping[int, int]
    title: int | None


def analyse(pages: Sequence[PageText], outline: Sequence[Entry] = ()) -> Layout:
    """Return the layout of a document's pages; ``outline`` confirms its headings."""
    furniture = furniture_of(pages)
    vocabulary = Vocabulary()
    for page in pages:
        vocabulary.add(page.lines)
    body = body_size(
        line for page in pages for line in page.lines if line not in furniture.get(page.page_no, {})
    )
    blocks: list[Block] = []
    for page in pages:
        blocks += _page_blocks(page, furniture.get(page.page_no, {}), vocabulary, body)
    named = with_outline(checked_headings(join_tables(blocks)), outline)
    checked = checked_items(named)
    joined = join_across(checked, vocabulary)
    return Layout(blocks=tuple(joined), levels=levels_of(joined), title=title_of(joined))


def _page_blocks(
    page: PageText, furniture: Mapping[Line, str], vocabulary: Vocabulary, body: float
) -> list[Block]:
    pieces = [line for line in page.lines if line not in furniture]
    heads = [line for line, zone in furniture.items() if zone == "header"]
    feet = [line for line, zone in furniture.items() if zone == "footer"]
    blocks = _furniture_blocks(heads, "header", page)
    rules = rules_of(page)
    tables, rest = find_tables(pieces, rules, page.across)
    in_tables = {line.cells for table in tables for line in table.lines}
    regions = with_tables(read_in_order([*rest, *place_holders(tables)]), tables)
    for part in (part for region in regions for part in split_region(region, rules)):
        if part.table is not None:
            blocks.append(table_block(part.table, page.page_no, vocabulary))
        else:
            blocks += region_blocks(part, page.page_no, vocabulary, body)
    blocks = with_captions(blocks, page.drawn.images)
    size = page.width, page.height
    blocks = with_footnotes(blocks, rules.horizontal, size, vocabulary, body)
    turned = (line for line in page.across if line.cells not in in_tables)
    blocks += [_single("text", [line], page) for line in turned]
    return blocks + _furniture_blocks(feet, "footer", page)


def _furniture_blocks(lines: list[Line], kind: BlockKind, page: PageText) -> list[Block]:
    blocks = []
    for region in read_in_order(lines):
        blocks += [_single(kind, [line], page) for line in region.lines]
    return blocks


def _single(kind: BlockKind, lines: list[Line], page: PageText) -> Block:
    return Block(
        kind=kind,
        lines=tuple(lines),
        pages=(page.page_no,) * len(lines),
        text=" ".join(line.text for line in lines),
        size=lines[0].size,
    )
