"""Blocks of documents to Arrow and back, column by column.

The one place where ``Block`` meets its Arrow form: ``documents.blocks`` and the
blocks that travel between stages. Built column by column, since a table-heavy
document has a hundred thousand blocks and a dictionary each would cost more than
parsing them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np
import pyarrow as pa

from chunking import schemas
from chunking.model import Block, BlockKind, Box

__all__ = ["BLOCK_WITH_BOXES", "blocks_array", "blocks_from", "boxes_array", "list_array"]

_BOXES = pa.list_(pa.field("item", schemas.BOX, nullable=False))

BLOCK_WITH_BOXES = pa.struct(
    [
        *schemas.BLOCK,
        pa.field("boxes", _BOXES, nullable=False),
        pa.field("language", pa.string()),
    ]
)
"""A block as it travels between stages; the published one has no boxes and no language."""


def blocks_array(
    documents: Sequence[Sequence[Block] | None], *, boxes: bool = False
) -> pa.ListArray[Any]:
    """Return one list of blocks per document, null where it has none (failed, skipped).

    The item type is :data:`chunking.schemas.BLOCK`, or :data:`BLOCK_WITH_BOXES`.
    """
    flat = [block for blocks in documents for block in blocks or ()]
    struct = BLOCK_WITH_BOXES if boxes else schemas.BLOCK
    arrays = [_column(field, flat) for field in struct]
    values = pa.StructArray.from_arrays(arrays, fields=list(struct))
    return list_array([None if blocks is None else len(blocks) for blocks in documents], values)


def _column(field: pa.Field[Any], blocks: Sequence[Block]) -> pa.Array[Any]:
    if field.name == "row_starts":
        return list_array(
            [len(block.row_starts) for block in blocks],
            pa.array(chain.from_iterable(b.row_starts for b in blocks), pa.int64()),
        )
    if field.name == "boxes":
        return boxes_array([block.boxes for block in blocks])
    values: pa.Array[Any] = pa.array([getattr(block, field.name) for block in blocks], field.type)
    return values


def boxes_array(boxes: Sequence[Sequence[Box]]) -> pa.ListArray[Any]:
    """Return one list of boxes per item, of type :data:`chunking.schemas.BOX`."""
    flat = list(chain.from_iterable(boxes))
    arrays = [pa.array([getattr(box, f.name) for box in flat], f.type) for f in schemas.BOX]
    values = pa.StructArray.from_arrays(arrays, fields=list(schemas.BOX))
    return list_array([len(item) for item in boxes], values)


def list_array(lengths: Sequence[int | None], values: pa.Array[Any]) -> pa.ListArray[Any]:
    """Return a list array over ``values``: ``lengths`` items each, null where None."""
    counts = [length or 0 for length in lengths]
    offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64))).astype(np.int32)
    item = pa.field("item", values.type, nullable=False)
    missing = np.array([length is None for length in lengths], bool)
    lists: pa.ListArray[Any] = pa.ListArray.from_arrays(
        cast("pa.Int32Array", pa.array(offsets)),
        values,
        type=pa.list_(item),
        mask=pa.array(missing) if missing.any() else None,
    )
    return lists


def blocks_from(column: pa.ChunkedArray[Any]) -> Iterator[tuple[Block, ...] | None]:
    """Yield each document's blocks from a column of lists, boxes where it has them."""
    for array in column.chunks:
        yield from _blocks_of(cast("pa.ListArray[Any]", array))


def _blocks_of(array: pa.ListArray[Any]) -> Iterator[tuple[Block, ...] | None]:
    values = cast("pa.StructArray", array.flatten())
    names = [field.name for field in values.type]
    columns = dict(zip(names, (part.to_pylist() for part in values.flatten()), strict=True))
    blocks = [_block(columns, i) for i in range(len(values))]
    ends = [0, *np.cumsum(array.value_lengths().fill_null(0).to_numpy()).tolist()]
    for valid, (start, end) in zip(array.is_valid().to_pylist(), pairwise(ends), strict=True):
        yield tuple(blocks[start:end]) if valid else None


def _block(columns: dict[str, list[Any]], i: int) -> Block:
    boxes = columns["boxes"][i] if "boxes" in columns else ()
    return Block(
        index=columns["index"][i],
        kind=cast("BlockKind", columns["kind"][i]),
        start=columns["start"][i],
        end=columns["end"][i],
        level=columns["level"][i],
        heading_path=tuple(columns["heading_path"][i]),
        page_start=columns["page_start"][i],
        page_end=columns["page_end"][i],
        code_language=columns["code_language"][i],
        row_starts=tuple(columns["row_starts"][i]),
        boxes=tuple(Box(**box) for box in boxes),
        language=columns["language"][i] if "language" in columns else None,
    )
