"""The ports: what the stages ask of stores, parsers and models, and nothing more.

Each port's contract stands in its docstring; the adapters live in :mod:`jobs.adapters`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chunking.model import Document, Tokens
from chunking.pooling import TokenRange

__all__ = [
    "Clock",
    "Embedder",
    "Member",
    "ModelFacts",
    "ObjectInfo",
    "ObjectStore",
    "ParseOutcome",
    "Parser",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInfo:
    """What a listing says of an object; ``etag`` identifies its content version."""

    key: str
    size: int
    etag: str


class ObjectStore(Protocol):
    """A flat name space of immutable-or-replaced objects below one root.

    Keys use ``/`` and are relative to the root. Every write is atomic: a reader sees
    the old object, or the new one, or none. All methods raise ``StoreError`` after
    bounded retries, ``AccessDeniedError`` at once.
    """

    @property
    def url(self) -> str:
        """URL or path of the root, without credentials."""
        ...

    def uri(self, key: str) -> str:
        """Return the full RFC 3986 URI of a key."""
        ...

    def get(self, key: str) -> bytes:
        """Return the whole object; ``ObjectNotFoundError`` if it does not exist."""
        ...

    def get_tail(self, key: str, n_bytes: int) -> bytes:
        """Return the last ``n_bytes`` (or all, if it is shorter)."""
        ...

    def download(self, key: str, path: Path) -> None:
        """Stream the object into a local file."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Create or replace an object."""
        ...

    def upload(self, key: str, path: Path) -> None:
        """Create or replace an object from a local file."""
        ...

    def create(self, key: str, data: bytes) -> bool:
        """Create the object if it does not exist; False if another content is there.

        A retry after an unknown outcome finds its own bytes and returns True, so the
        caller's ``data`` must be unique to its attempt wherever that matters.
        """
        ...

    def copy(self, source: str, target: str) -> None:
        """Copy an object onto another key: one atomic write, in the store if it can."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object; no error if it does not exist."""
        ...

    def delete_many(self, keys: Sequence[str]) -> None:
        """Remove objects in as few requests as the store takes, in no order that is known.

        No error for those that do not exist; after any other, some are gone and some not.
        """
        ...

    def head(self, key: str) -> ObjectInfo | None:
        """Return the object's facts, or None."""
        ...

    def unfinished(self) -> Iterator[ObjectInfo]:
        """Yield what writes that never ended have left, which no reader and no listing sees.

        Their keys can be deleted like any other. Among them may be those of writes that
        are going on at this moment.
        """
        ...

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield all objects whose key starts with ``prefix``, in key order (code points)."""
        ...


class Clock(Protocol):
    """Time, so that tests can turn it."""

    def monotonic(self) -> float:
        """Return seconds of a clock that never jumps."""
        ...

    def now(self) -> float:
        """Return seconds since the epoch, for names and reports only."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOutcome:
    """What parsing one document gave: text, or an error, or text with something lost.

    ``status`` is ``ok``, ``partial``, ``failed`` or ``skipped``; ``document`` is None for
    the last two. ``format`` is told by content. ``members``: the documents that came in it,
    attachments of a mail and files of an archive, which may hold others in turn.
    """

    status: str
    format: str
    parser: str
    document: Document | None = None
    error_kind: str | None = None
    error_message: str | None = None
    retryable: bool = False
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A document inside another: an attachment, or a file of an archive.

    ``name``: as its container has it, unique there. ``outcome`` is None only on the way
    from a parsing child, where ``file`` names the file with its bytes. ``inline``: shown
    within a mail's text, as the logo of a signature. ``doc_version``: None where it could
    not be unpacked.
    """

    name: str
    outcome: ParseOutcome | None = None
    file: str | None = None
    inline: bool = False
    size_bytes: int = 0
    doc_version: str | None = None


class Parser(Protocol):
    """Turns one file into canonical text and blocks; never raises for a bad document."""

    def parse(self, path: Path, *, name: str) -> ParseOutcome:
        """Parse ``path``; ``name`` is its source key, for messages and as a weak hint."""
        ...

    def close(self) -> None:
        """End all children."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is recorded of a model; the keys of ``model`` in ``dataset.json``.

    ``revision`` is the hub commit, or a hash of the files of a local model. ``pooling``
    is the model's own (``mean``, ``cls``, ``lasttoken`` ...); late vectors exist for
    ``mean`` only.
    """

    name: str
    revision: str
    dimension: int
    max_seq_length: int
    pooling: str
    normalize: bool
    query_prompt: str
    passage_prompt: str
    dtype: str


class Embedder(Protocol):
    """One embedding model with its tokenizer."""

    @property
    def facts(self) -> ModelFacts:
        """What is recorded of the model."""
        ...

    @property
    def dimension(self) -> int:
        """Values of one vector."""
        ...

    @property
    def window_tokens(self) -> int:
        """Document tokens that fit one window: the window less prompt and special tokens."""
        ...

    @property
    def supports_late(self) -> bool:
        """Whether token vectors can be pooled: the model takes their mean, its head is linear."""
        ...

    @property
    def no_late(self) -> str | None:
        """Why token vectors cannot be pooled, as the end of a sentence; None if they can."""
        ...

    @property
    def tokenizer_description(self) -> str | None:
        """The tokenizer as JSON, by which it works without the model; None if it cannot."""
        ...

    def tokenize(self, text: str) -> Tokens:
        """Return the text's tokens with offsets, special tokens left out."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the exact model input size of each text: prompt and special tokens included."""
        ...

    def window_input(self, window: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return a window's token ids as the model sees them: prompt and special tokens added."""
        ...

    def window_means(
        self, windows: Sequence[NDArray[np.uint32]], ranges: Sequence[Sequence[TokenRange]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield, per window of token ids, its index and the means of its ranges (R x D).

        ``ranges``: for each window the token ranges whose vectors are averaged,
        counted from the window's start. In the order in which windows go through the
        model, not in the order given, so that the caller can take each at once. Prompt
        and special tokens are added to the input and left out of the means. A window's
        vectors depend on that window alone, not on what shares a pass with it.

        Raises:
            ModelError: the model has no late vectors; see ``supports_late``.
        """
        ...

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the model's own vector of each text (n x D); none is truncated."""
        ...
