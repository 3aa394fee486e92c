"""What a sentence-transformers model is made of, and what follows from it.

A model is a transformer and what comes after it, its head: pooling, dense layers,
normalisation. Whether it has late vectors, how wide its vectors are and how long its
window is are read off these modules, never off the model's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Router, Transformer
from sentence_transformers.sentence_transformer.modules import (
    Dropout,
    Pooling,
    WeightedLayerPooling,
)

from chunking.errors import ModelError
from jobs.config import ModelConfig

__all__ = ["ModelParts", "find_window", "own_prompt", "take_apart"]

_LONG = 1_000_000
_UNKNOWN_WINDOW = 512

_TOKEN_BY_TOKEN = (Dense, Dropout, WeightedLayerPooling)
"""Modules before the pooling that look at one token at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParts:
    """A model's modules as a passage goes through them.

    ``late_head``: what token vectors are put through one by one where the model has
    late vectors; ``no_late`` says why it has none. ``pooling`` is the name of its
    method, ``width`` the values of a vector before any truncation. ``normalize``: the
    model scales its vectors to unit length.
    """

    transformer: Transformer
    head: tuple[torch.nn.Module, ...]
    late_head: tuple[torch.nn.Module, ...]
    no_late: str | None
    pooling: str
    normalize: bool
    width: int


def take_apart(model: SentenceTransformer, name: str) -> ModelParts:
    """Return the parts of a model; of one with routes, those that passages take.

    Raises:
        ModelError: it is no transformer, or has modules whose work cannot be shared
            between inputs.
    """
    first, *head = _passage_modules(model, name)
    if not isinstance(first, Transformer):
        msg = f"{name!r} begins with {type(first).__name__}; only transformer models can be used"
        raise ModelError(msg)
    pooling = _pooling(head, name)
    late_head, no_late = _late_head(head)
    last = [module for module in head if not isinstance(module, Dropout)][-1]
    return ModelParts(
        transformer=first,
        head=tuple(head),
        late_head=tuple(late_head),
        no_late=no_late,
        pooling=pooling,
        normalize=isinstance(last, Normalize),
        width=_width([first, *head]),
    )


def _passage_modules(model: SentenceTransformer, name: str) -> list[torch.nn.Module]:
    first, *others = model.children()
    while isinstance(first, Router):
        route = _passage_route(first)
        if route is None:
            routes = ", ".join(first.sub_modules)
            msg = f"{name!r} has no route for passages, only {routes}"
            raise ModelError(msg)
        first, *before = cast("torch.nn.Sequential", first.sub_modules[route]).children()
        others = [*before, *others]
    return [first, *others]


def _passage_route(router: Router) -> str | None:
    """Return the route that sentence-transformers takes for the text of a document."""
    asked = [("document", "text"), ("document", None), (None, "text"), (None, None)]
    routes: Mapping[Any, str] = router.route_mappings
    found = [routes[key] for key in asked if key in routes]
    found += [route for route in ("document", "text") if route in router.sub_modules]
    default: str | None = router.default_route
    return found[0] if found else default


def _pooling(head: Sequence[torch.nn.Module], name: str) -> str:
    """Return the pooling method; refuse what cannot stand before it."""
    for module in head:
        if isinstance(module, Pooling):
            mode = module.pooling_mode
            return mode if isinstance(mode, str) else "+".join(mode)
        if not isinstance(module, _TOKEN_BY_TOKEN):
            msg = (
                f"{name!r} puts its token vectors through {type(module).__name__} before they "
                "are pooled; such models cannot be used"
            )
            raise ModelError(msg)
    msg = f"{name!r} has no pooling, so it gives no vectors of texts"
    raise ModelError(msg)


def _late_head(
    modules: Sequence[torch.nn.Module],
) -> tuple[list[torch.nn.Module], str | None]:
    """Return the modules to put token vectors through, or why there are none.

    Late pooling swaps mean and head, so the head must be linear: what comes after the
    mean may be dense without activation, dropout (idle here), and, last, a normalisation.
    """
    head: list[torch.nn.Module] = []
    pooled = normalised = False
    for module in modules:
        if isinstance(module, Normalize):
            normalised = True
            continue
        if isinstance(module, Dropout):
            continue
        if normalised:
            return [], "its head goes on after the normalisation"
        if isinstance(module, Pooling):
            if module.pooling_mode != "mean" or pooled:
                return [], f"it pools by {module.pooling_mode!r}, not by the mean of its tokens"
            pooled = True
        elif pooled and (reason := _not_linear(module)) is not None:
            return [], reason
        head.append(module)
    return head, None


def _not_linear(module: torch.nn.Module) -> str | None:
    if not isinstance(module, Dense):
        return f"its module {type(module).__name__} is not linear"
    if not isinstance(module.activation_function, torch.nn.Identity):
        return f"its head has the activation {type(module.activation_function).__name__}"
    return None


def _width(modules: Sequence[torch.nn.Module]) -> int:
    for module in reversed(modules):
        width = getattr(module, "get_embedding_dimension", None)
        if callable(width):
            return int(width())
    return 0


def own_prompt(model: SentenceTransformer, names: Sequence[str]) -> str:
    """Return the first of these prompts that a model brings along, or none.

    Its default prompt is not asked for: it is meant for texts of unknown purpose.
    """
    own = (model.prompts.get(name) for name in names)
    return next((prompt for prompt in own if prompt), "")


def find_window(transformer: Transformer, config: ModelConfig) -> int:
    """Return the window: as configured, else as the model was trained.

    Raises:
        ModelError: more is asked for than the model has positions.
    """
    table = _position_table(transformer)
    said = int(getattr(transformer.config, "max_position_embeddings", None) or 0)
    trained = transformer.max_seq_length
    if trained is None or trained > _LONG:
        trained = said or _UNKNOWN_WINDOW
    # Rotary and relative positions have no table; such models may be trained beyond
    # the positions that their configuration names.
    most = table or max(said, trained)
    window = config.max_seq_length or min(int(trained), most)
    if window > most:
        msg = f"model.max_seq_length is {window}; {config.name!r} has {most} positions"
        raise ModelError(msg)
    return window


def _position_table(transformer: Transformer) -> int | None:
    """Return how many positions a learned table has; None if there is no such table.

    Models of the RoBERTa family begin to count behind the padding id.
    """
    rows = getattr(transformer.config, "max_position_embeddings", None)
    model = transformer.model
    words = model.get_input_embeddings()
    for module in model.modules():
        if not isinstance(module, torch.nn.Embedding) or module is words:
            continue
        if module.num_embeddings == rows:
            skipped = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - skipped
    return None
