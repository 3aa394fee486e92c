"""chunkmill in a notebook: one document at a time, in memory, without Ray or a dataset.

The same stages as in a job, so a document gives the same chunks, ids and vectors.
"""

from jobs.notebook.mill import Chunkmill
from jobs.notebook.values import Chunks, ChunkView, ParsedText

__all__ = ["ChunkView", "Chunkmill", "Chunks", "ParsedText"]
