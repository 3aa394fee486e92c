"""From the configuration to an embedding model, and to what it makes of the configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping

from chunking.errors import ModelError
from jobs.adapters import hash_embedder
from jobs.adapters.model_files import is_of_hub, locate
from jobs.config import ChunkingConfig, Config
from jobs.ports import Embedder

__all__ = ["fix_dtype", "make_embedder", "make_for_facts", "settle"]

_OWN_VECTORS = {"vectors": "chunk", "neighbour_weight": None}


def make_embedder(config: Config, *, threads: int | None = None) -> Embedder:
    """Load the configured model; ``threads`` is this process's share of the CPUs.

    Raises:
        ModelError: the model does not exist, or cannot be loaded or used.
    """
    if config.model.name.startswith(hash_embedder.PREFIX):
        return hash_embedder.HashEmbedder(config.model)
    if threads is not None:
        # The tokenizers' thread pool reads this when it is first used.
        os.environ["RAYON_NUM_THREADS"] = str(threads)
    # A model that does not exist is said so at once.
    locate(config.model.name, config.model.revision)
    # torch takes seconds to import, which the command line and the test double need not pay.
    from jobs.adapters.sentence_transformer import SentenceTransformerEmbedder  # noqa: PLC0415

    return SentenceTransformerEmbedder.load(config.model, threads=threads)


def fix_dtype(config: Config, *, here: bool, made_with: Mapping[str, object] | None) -> Config:
    """Return the configuration with a number type in the place of ``auto``.

    ``here``: the documents will go through the model on this machine. ``made_with``: the
    model of the dataset that is continued; its type is kept, so that a run on another
    machine does not make everything anew.
    """
    if config.model.dtype != "auto":
        return config
    if config.model.name.startswith(hash_embedder.PREFIX):
        dtype: object = "float32"
    elif made_with is not None and made_with["name"] == config.model.name:
        dtype = made_with["dtype"]
    else:
        from jobs.adapters.model_loading import fast_dtype, has_gpu  # noqa: PLC0415 - imports torch

        asked = config.model.device == "cuda" or config.resources.gpus_per_worker > 0
        found = here and config.model.device == "auto" and has_gpu()
        dtype = fast_dtype("cuda" if asked or found else "cpu")
    model = config.model.model_copy(update={"dtype": dtype})
    return config.model_copy(update={"model": model})


def make_for_facts(config: Config, *, here: bool) -> Embedder:
    """Load the model in a process that puts no document through it: on the CPU, always.

    ``here``: the documents will go through it on this machine.

    Raises:
        ModelError: as :func:`make_embedder`; or a GPU is asked for that is not here.
    """
    if here and config.model.device == "cuda":
        from jobs.adapters.model_loading import choose_device  # noqa: PLC0415 - imports torch

        choose_device(config.model.device)
    on_cpu = config.model.model_copy(update={"device": "cpu"})
    return make_embedder(config.model_copy(update={"model": on_cpu}))


def settle(config: Config, embedder: Embedder) -> tuple[Config, str | None]:
    """Return the configuration that is carried out with a model, and what to say of it.

    A model of the hub is pinned to the commit that was loaded, so that all who load it
    later get the same. Where late vectors are asked for and the model has none, chunks
    get its own vectors, and the line says why.

    Raises:
        ModelError: late vectors are asked for, the model has none, and
            ``model.without_late`` is ``refuse``.
    """
    name = config.model.name
    if not name.startswith(hash_embedder.PREFIX) and is_of_hub(name):
        pinned = config.model.model_copy(update={"revision": embedder.facts.revision})
        config = config.model_copy(update={"model": pinned})
    reason = embedder.no_late
    if reason is None or not any(each.pooled for each in config.chunking.all_settings()):
        return config, None
    said = f"late vectors do not apply to {name!r}: {reason}"
    if config.model.without_late == "refuse":
        msg = f"{said}; set chunking.vectors=chunk, or model.without_late=chunk"
        raise ModelError(msg)
    chunking = _with_own_vectors(config.chunking)
    return (
        config.model_copy(update={"chunking": chunking}),
        f"{said}; each chunk is embedded by itself (vectors: chunk)",
    )


def _with_own_vectors(chunking: ChunkingConfig) -> ChunkingConfig:
    """Return the choices with ``chunk`` vectors wherever they asked for late ones."""
    own, *others = chunking.all_settings()
    overrides = tuple(
        override.model_copy(update=_OWN_VECTORS) if settings.pooled else override
        for override, settings in zip(chunking.overrides, others, strict=True)
    )
    changed = chunking.model_copy(update={"overrides": overrides})
    return changed.model_copy(update=_OWN_VECTORS) if own.pooled else changed
