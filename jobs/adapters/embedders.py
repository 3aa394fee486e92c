"""From the configuration to an embedding model."""

from __future__ import annotations

import os

from jobs.adapters import hash_embedder
from jobs.adapters.model_files import locate
from jobs.config import Config
from jobs.ports import Embedder

__all__ = ["make_embedder", "require_vectors"]


def make_embedder(config: Config, *, threads: int | None = None) -> Embedder:
    """Load the configured model; ``threads`` is this process's share of the CPUs.

    Raises:
        ModelError: the model does not exist, cannot be loaded, or cannot give the
            vectors that the configuration asks for.
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

    embedder = SentenceTransformerEmbedder.load(config.model, threads=threads)
    require_vectors(embedder, config)
    return embedder


def require_vectors(embedder: Embedder, config: Config) -> None:
    """Refuse a model that cannot give the vectors that the configuration asks for.

    Raises:
        ModelError: late vectors are asked for, and the model has none.
    """
    if any(settings.pooled for settings in config.chunking.all_settings()):
        embedder.require_late()
