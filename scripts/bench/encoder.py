"""A model's own vector of each text, as a retriever would make it, remembered in a file.

Every chunker is measured with the same vectors, so each text is embedded once.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

__all__ = ["Encoder"]

_BATCH = 32


class Encoder:
    """Embeds texts by sentence-transformers; ``cache`` is a file that outlives the run.

    A text above the window is cut off there, as the model's users have it.
    """

    def __init__(self, model: Path, cache: Path | None) -> None:
        self._model = SentenceTransformer(str(model), device="cpu", local_files_only=True)
        weights = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(model.glob("*.*s*"))))
        self._key = weights.hexdigest()
        self._known = sqlite3.connect(cache or ":memory:")
        self._known.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, value BLOB)")

    def __call__(self, texts: Sequence[str], window: int) -> NDArray[np.float32]:
        """Return the vectors of texts (n x D), each read up to ``window`` tokens."""
        keys = [self._hash(text, window) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if self._get(key) is None}
        if new:
            self._model.max_seq_length = window
            vectors = self._model.encode(
                list(new.values()), batch_size=_BATCH, show_progress_bar=False
            ).astype(np.float32)
            rows = [(key, vector.tobytes()) for key, vector in zip(new, vectors, strict=True)]
            self._known.executemany("INSERT INTO vectors VALUES (?, ?)", rows)
            self._known.commit()
        return np.stack([np.frombuffer(self._get(key) or b"", np.float32) for key in keys])

    def _hash(self, text: str, window: int) -> bytes:
        field = f"{self._key}\x1f{window}\x1f{text}"
        return hashlib.sha256(field.encode("utf-8", "replace")).digest()

    def _get(self, key: bytes) -> bytes | None:
        row = self._known.execute("SELECT value FROM vectors WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]
