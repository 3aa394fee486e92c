"""What a run knows of itself and of its dataset; travels to every worker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from chunking import ids, schemas

__all__ = ["Run", "RunSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What the job asks of a run; nothing here has been compared with the dataset yet.

    ``source``: URL of SRC without credentials, by which a dataset remembers it.
    ``source_name``: given for a second SRC; its keys carry the name. ``model``: the
    ``model`` section of ``dataset.json`` (name, revision, dimension, max_seq_length,
    pooling, normalize, query_prompt, passage_prompt, dtype). ``chunking``: its section.
    ``vector_dtype``: of ``chunks.embedding``. ``partition_by``: None, ``format``,
    ``folder`` or ``metadata.KEY``. ``n_buckets``: of a new dataset; estimated if None.
    ``attempts``: attempts at a document that may be retried. ``max_deleted``: how many
    of the source's documents one run may delete, a number or a percentage. ``sources``:
    named sources that a new dataset begins with. ``unpacks``: the members of a planned
    document are found when it is parsed; otherwise they are planned themselves.
    ``record``: what ``dataset.json`` keeps beside, so that chunks can be made anew.
    """

    source: str
    fingerprint: str
    model: Mapping[str, object]
    chunking: Mapping[str, object]
    source_name: str | None = None
    partition_by: str | None = None
    vector_dtype: schemas.VectorType = "float32"
    n_buckets: int | None = None
    unit_documents: int = 32
    unit_bytes: int = 64 * 2**20
    attempts: int = 3
    lease_seconds: float = 60.0
    max_deleted: str = "50%"
    sources: Mapping[str, str] = field(default_factory=dict)
    unpacks: bool = True
    record: Mapping[str, object] = field(default_factory=dict)

    @property
    def dimension(self) -> int:
        """Values of one vector."""
        return int(str(self.model["dimension"]))

    @property
    def model_id(self) -> str:
        """H of all that the vector of a given model input depends on."""
        relevant = {k: v for k, v in self.model.items() if k != "query_prompt"}
        return ids.hash_fields(json.dumps(relevant, sort_keys=True), self.vector_dtype)


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run that holds the lease of an existing dataset; immutable and picklable.

    ``purged``: ids of documents that stay out of it, should they come in another.
    """

    run_id: str
    settings: RunSettings
    n_buckets: int
    facts: Mapping[str, str] = field(default_factory=dict)
    purged: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def epoch(self) -> int:
        """The lease epoch."""
        return int(self.run_id[:8])

    @cached_property
    def chunks_schema(self) -> pa.Schema:
        """Schema of ``chunks`` in this dataset."""
        return schemas.chunks_schema(self.settings.dimension, self.settings.vector_dtype)

    def file_facts(self, bucket: int, version: int, attempt: str) -> dict[str, str]:
        """Return the schema metadata of a bucket version's files."""
        return {
            **self.facts,
            "run_id": self.run_id,
            "bucket": str(bucket),
            "bucket_version": str(version),
            "attempt": attempt,
        }
