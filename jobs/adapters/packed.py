"""Packed passes: windows put through a transformer end to end, without padding.

The tokens of several windows stand one after another in one row; all that works token
by token (the matrix products, nearly all of the work) runs over the whole row, and
attention window by window. A pass of short windows always has the same number of rows,
filled up if need be: matrix products choose their kernels by that number, so that with
it a window's vectors are the same, bit for bit, whatever else is in the pass, in
bfloat16 as in float32.

Whether a model works this way is not read off its name but tried when it is loaded:
:func:`find_offset` compares packed passes with plain ones.

Packing without cross-contamination: Krell et al., 2021, "Efficient Sequence Packing
without Cross-contamination", section 3.

Shapes: T tokens of a pass, H heads, L tokens of a window, E values of a head.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers.base.modules import Transformer
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

__all__ = ["PASS_TOKENS", "SHARED_TOKENS", "fill_passes", "find_offset", "packed_features"]

PASS_TOKENS = 2048
"""Tokens of a pass that windows share; with fewer, matrix products are slower."""

SHARED_TOKENS = 512
"""Windows up to this length share passes; a longer one fills a pass of its own."""

_STEP = 16
"""Attention is faster over a multiple of this many tokens, up to which it reads on."""

_NAME = "chunkmill_packed"
_BOUNDS = "cu_seq_lens_q"
_TRIED_LENGTHS = (300, 37, 5)
"""The longest is above the usual sliding windows of local attention (64 to 128 a side)."""

_ALIKE = 0.999
_UNSUITED = (
    AttributeError,
    IndexError,
    KeyError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a model raises that takes no packed input."""


def fill_passes(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the inputs of each pass, by index: the longest that fits, then the next.

    Best fit by decreasing length; inputs above :data:`SHARED_TOKENS` come first, alone.
    """
    shared: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        if length > SHARED_TOKENS:
            yield [index]
        else:
            shared.setdefault(length, []).append(index)
    waiting = sorted(shared)
    for length in waiting:
        shared[length].reverse()
    while waiting:
        taken: list[int] = []
        room = PASS_TOKENS - _STEP
        while (at := bisect_right(waiting, room)) > 0:
            length = waiting[at - 1]
            taken.append(shared[length].pop())
            room -= length
            if not shared[length]:
                waiting.pop(at - 1)
        yield taken


def packed_features(
    inputs: Sequence[NDArray[np.uint32]], offset: int, pad: int
) -> dict[str, torch.Tensor]:
    """Return the features of one pass; ``offset`` is the model's first position.

    Tokens that only fill the pass stand at its end; no attention is reckoned for them.
    """
    lengths = [len(part) for part in inputs]
    total = sum(lengths)
    rows = PASS_TOKENS if max(lengths) <= SHARED_TOKENS else total + _STEP
    ids = np.full(rows, pad, np.int64)
    positions = np.full(rows, offset, np.int64)
    ids[:total] = np.concatenate(inputs)
    positions[:total] += np.concatenate([np.arange(length) for length in lengths])
    return {
        "input_ids": torch.from_numpy(ids)[None],
        "position_ids": torch.from_numpy(positions)[None],
        _BOUNDS: torch.from_numpy(np.cumsum([0, *lengths])),
    }


@torch.inference_mode()
def find_offset(transformer: Transformer, pad: int | None, longest: int) -> int | None:
    """Switch a model to packed passes; return its first position, or None if it cannot.

    Random windows are put through it packed and, one by one, as it does it by itself;
    the token vectors must be alike. Models of the RoBERTa family count positions from
    the padding id on.
    """
    model: Any = transformer.model
    own = getattr(getattr(model, "config", None), "_attn_implementation", None)
    if own is None or not getattr(model, "is_backend_compatible", bool)():
        return None
    rows = int(model.get_input_embeddings().num_embeddings)
    random = np.random.default_rng(0)
    lengths = [min(length, longest) for length in _TRIED_LENGTHS]
    inputs = [random.integers(rows // 2, rows, n).astype(np.uint32) for n in lengths]
    expected = [_alone(transformer, part) for part in inputs]
    if transformer.model_forward_params is not None:
        transformer.model_forward_params |= {_BOUNDS, "position_ids"}
    model.set_attn_implementation(_NAME)
    for offset in dict.fromkeys((0, (pad or 0) + 1)):
        if _agrees(transformer, inputs, expected, offset):
            return offset
    model.set_attn_implementation(own)
    return None


def _alone(transformer: Transformer, part: NDArray[np.uint32]) -> torch.Tensor:
    ids = torch.from_numpy(part.astype(np.int64))[None]
    features = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    vectors: torch.Tensor = transformer(features)["token_embeddings"][0]
    return vectors


def _agrees(
    transformer: Transformer,
    inputs: Sequence[NDArray[np.uint32]],
    expected: Sequence[torch.Tensor],
    offset: int,
) -> bool:
    try:
        vectors = transformer(packed_features(inputs, offset, 0))["token_embeddings"][0]
    except _UNSUITED:
        return False
    wanted = torch.cat(list(expected))
    alike = torch.cosine_similarity(vectors[: len(wanted)].float(), wanted.float(), dim=-1)
    return bool((alike > _ALIKE).all())


def _attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attend within each window of a pass (1 x H x T x E each); return 1 x T x H x E.

    An input that says nothing of windows is attended to as the library does it.
    """
    if _BOUNDS not in kwargs:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
    bounds = kwargs.pop(_BOUNDS).tolist()
    causal = kwargs.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    reach = kwargs.get("sliding_window")
    result = query.new_zeros(1, query.shape[2], query.shape[1], value.shape[3])
    for start, end in pairwise(bounds):
        length = end - start
        # What is read past the end is masked; in a causal model nothing sees it anyway.
        stop = start + length if causal else start + -(-length // _STEP) * _STEP
        mask = _mask_of(length, stop - start, reach, query.dtype)
        query_L, key_L, value_L = (part[:, :, start:stop] for part in (query, key, value))
        attended = sdpa_attention_forward(module, query_L, key_L, value_L, mask, **kwargs)[0]
        result[:, start:end] = attended[:, :length]
    return result, None


@lru_cache(maxsize=1024)
def _mask_of(length: int, rows: int, reach: int | None, dtype: torch.dtype) -> torch.Tensor | None:
    """Return what to add to the scores of a window read up to ``rows``; None for nothing.

    ``reach``: of local attention, which sees fewer tokens than that on each side.
    """
    if rows == length and (reach is None or length <= reach):
        return None
    positions = torch.arange(rows)
    seen = (positions < length)[None]
    if reach is not None and length > reach:
        seen = seen & ((positions[:, None] - positions[None, :]).abs() < reach)
        # Rows past the end see nothing; let them see themselves, for no number comes of nothing.
        seen = seen | torch.eye(rows, dtype=torch.bool)
    return torch.where(seen, 0.0, float("-inf")).to(dtype)[None, None]


def _mask(
    *args: Any,
    attention_mask: torch.Tensor | None = None,
    **kwargs: Any,
) -> torch.Tensor | None:
    """Make no mask for a pass: nothing is padded, and its windows are told by their bounds."""
    if attention_mask is None:
        return None
    kwargs["attention_mask"] = attention_mask
    mask: torch.Tensor | None = sdpa_mask(*args, **kwargs)
    return mask


AttentionInterface.register(_NAME, _attend)
AttentionMaskInterface.register(_NAME, _mask)
