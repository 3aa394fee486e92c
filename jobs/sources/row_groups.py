"""Texts of a Parquet table by row number, without holding the table in memory."""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections import OrderedDict
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from chunking.errors import DocumentError

__all__ = ["RowGroups"]

Texts: TypeAlias = "pa.ChunkedArray[pa.LargeStringScalar]"
MAX_BYTES = 4 * 2**30
"""Decoded texts kept on disk per process; the least recently used row groups go first."""


class RowGroups:
    """Row groups decoded on demand into memory-mapped files that are already unlinked."""

    def __init__(
        self, file: pq.ParquetFile, column: str, *, tmp_dir: str | None, max_bytes: int = MAX_BYTES
    ) -> None:
        self._file = file
        self._column = column
        self._tmp_dir = tmp_dir
        self._max_bytes = max_bytes
        counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        self._starts = [0, *accumulate(counts)]
        self._groups: OrderedDict[int, Texts] = OrderedDict()

    def text(self, row: int) -> str:
        """Return the text of a row; empty if it is null.

        Raises:
            DocumentError: ``corrupt``: the table has no such row, or cannot be decoded.
        """
        if not 0 <= row < self._starts[-1]:
            msg = f"the table has no row {row}"
            raise DocumentError(msg, kind="corrupt", stage="fetch")
        group = bisect_right(self._starts, row) - 1
        value = self._texts(group)[row - self._starts[group]].as_py()
        return value or ""

    def _texts(self, group: int) -> Texts:
        if group not in self._groups:
            try:
                self._groups[group] = self._decode(group)
            except pa.ArrowException as error:
                reason = " ".join(str(error).split())
                msg = f"row group {group} of the table cannot be decoded: {reason}"
                raise DocumentError(msg, kind="corrupt", stage="fetch") from error
            self._evict()
        self._groups.move_to_end(group)
        return self._groups[group]

    def _decode(self, group: int) -> Texts:
        with tempfile.NamedTemporaryFile(dir=self._tmp_dir, suffix=".arrow") as target:
            schema = pa.schema([("text", pa.large_string())])
            with pa.ipc.new_file(target.name, schema) as writer:
                for batch in self._file.iter_batches(
                    batch_size=1024, row_groups=[group], columns=[self._column]
                ):
                    texts = batch.column(0).cast(pa.large_string())
                    writer.write(pa.record_batch([texts], schema=schema))
            mapped = pa.memory_map(str(Path(target.name)))
            return pa.ipc.open_file(mapped).read_all().column(0)

    def _evict(self) -> None:
        while len(self._groups) > 1 and self._held() > self._max_bytes:
            self._groups.popitem(last=False)

    def _held(self) -> int:
        return sum(texts.nbytes for texts in self._groups.values())
