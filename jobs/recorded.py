"""What a dataset keeps of how it was made, so that its chunks can be made anew.

The configuration as far as it affects output, the versions of the stages, and what must
be known of the model beside its facts: a tokenizer, and whether it has late vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from chunking.errors import DestinationError, ModelError
from jobs import layout
from jobs.adapters.embedders import make_embedder
from jobs.adapters.hash_embedder import PREFIX
from jobs.config import LIMITS_OF_OUTPUT, STAGE_VERSIONS, Config
from jobs.ports import Embedder, ModelFacts, ObjectStore
from jobs.protocol.dataset import Dataset, tokenizer_digest
from jobs.protocol.run import RunSettings
from jobs.protocol.written import get_verified

__all__ = ["Recorded", "read_record", "recorded_embedder", "run_settings", "settings_record"]

_OF_A_MACHINE = {"device", "batch_tokens"}
_DECIDE_TEXT = ("parse", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What is on record of a dataset.

    ``tree``: sections of the configuration. ``tokenizer``: its description, None where
    the model works without. ``no_late``: why the model has no late vectors.
    ``same_texts``: whether the stages that make texts are those of this release.
    """

    tree: Mapping[str, Any]
    facts: ModelFacts
    no_late: str | None
    same_texts: bool
    tokenizer: str | None = field(default=None, repr=False)


def settings_record(config: Config, embedder: Embedder) -> dict[str, Any]:
    """Return what ``dataset.json`` keeps under ``settings``."""
    description = embedder.tokenizer_description
    return {
        "config": {
            "parser": config.parser.model_dump(mode="json", exclude_none=True),
            "chunking": config.chunking.model_dump(mode="json", exclude_none=True),
            "model": config.model.model_dump(mode="json", exclude=_OF_A_MACHINE, exclude_none=True),
            "output": config.output.model_dump(mode="json", exclude_none=True),
            "limits": config.limits.model_dump(mode="json", include=set(LIMITS_OF_OUTPUT)),
        },
        "stages": dict(STAGE_VERSIONS),
        "no_late": embedder.no_late,
        "tokenizer": tokenizer_digest(description.encode()) if description else None,
    }


def run_settings(
    config: Config,
    facts: ModelFacts,
    record: Mapping[str, object],
    *,
    source: str,
    source_name: str | None = None,
    sources: Mapping[str, str] | None = None,
    unpacks: bool = True,
) -> RunSettings:
    """Return what a job with this configuration and model asks of its run."""
    return RunSettings(
        source=source,
        source_name=source_name,
        sources=sources or {},
        unpacks=unpacks,
        fingerprint=config.fingerprint(facts.revision),
        model=asdict(facts),
        chunking=config.chunking.facts(),
        vector_dtype=config.output.dtype,
        partition_by=config.output.partition_by,
        n_buckets=config.output.n_buckets,
        unit_documents=config.resources.unit_documents,
        unit_bytes=config.resources.unit_bytes,
        attempts=config.limits.attempts,
        lease_seconds=config.limits.lease_seconds,
        max_deleted=config.limits.max_deleted,
        record=record,
    )


def read_record(store: ObjectStore, dataset: Dataset) -> Recorded:
    """Return what is on record of a dataset.

    Raises:
        DestinationError: it was made by an earlier release, which kept none.
    """
    settings = dataset.settings
    if not settings:
        msg = (
            f"{store.url} was made by an earlier release of chunkmill, which kept no settings; "
            "bring it up to date with 'chunkmill run' first"
        )
        raise DestinationError(msg)
    stages = settings["stages"]
    facts: Any = dict(dataset.model)
    return Recorded(
        tree=settings["config"],
        facts=ModelFacts(**facts),
        no_late=settings["no_late"],
        same_texts=all(stages.get(name) == STAGE_VERSIONS[name] for name in _DECIDE_TEXT),
        tokenizer=_tokenizer(store, settings["tokenizer"]),
    )


def _tokenizer(store: ObjectStore, digest: str | None) -> str | None:
    if digest is None:
        return None
    key = layout.tokenizer(digest)
    return get_verified(store, key, lambda data: tokenizer_digest(data) == digest).decode()


def recorded_embedder(
    config: Config, recorded: Recorded, *, threads: int | None = None
) -> Embedder:
    """Return the model on record; its weights are loaded when a vector is asked for.

    Raises:
        ModelError: then, if there is no such model, or it is not the one on record.
    """
    if recorded.tokenizer is None:
        embedder = make_embedder(config, threads=threads)
        if not config.model.name.startswith(PREFIX) or embedder.facts != recorded.facts:
            msg = f"the model {config.model.name!r} is not the one that made the dataset"
            raise ModelError(msg)
        return embedder
    # The tokenizers alone are quick to import, which the test double need not pay either.
    from jobs.adapters.lazy_embedder import LazyEmbedder  # noqa: PLC0415

    return LazyEmbedder(
        recorded.facts,
        recorded.tokenizer,
        no_late=recorded.no_late,
        load=lambda: make_embedder(config, threads=threads),
    )
