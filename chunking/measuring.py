"""Exact sizes of many spans at once: read off the document's tokens where they add up.

A size is always that of the model input, prompt and special tokens included. Where the
tokenizer is known to cut at both ends of a span (``Tokens.separators``), it is the sum
of what it is made of; elsewhere the text is counted, in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from chunking.layout import Layout

__all__ = ["Front", "exact_sizes"]

Front = tuple[str, int | None]
"""A prefix (empty, or ending in a newline) and its number of tokens, None if not known."""


def exact_sizes(
    layout: Layout, spans: Sequence[tuple[int, int]], fronts: Sequence[Front] | None = None
) -> list[int]:
    """Return the exact size of each span of the text, behind its prefix if given."""
    text = layout.document.text
    sizes = _sums(layout, spans, fronts)
    unknown = [i for i, size in enumerate(sizes) if size < 0]
    if unknown:
        inputs = [text[start:end] for start, end in (spans[i] for i in unknown)]
        if fronts is not None:
            inputs = [fronts[i][0] + body for i, body in zip(unknown, inputs, strict=True)]
        for i, n in zip(unknown, layout.count(inputs), strict=True):
            sizes[i] = n
    return sizes


def _sums(
    layout: Layout, spans: Sequence[tuple[int, int]], fronts: Sequence[Front] | None
) -> list[int]:
    """Return the sizes that are sums of tokens, and -1 for those that must be counted."""
    separators, text = layout.tokens.separators, layout.document.text
    if not separators or not spans:
        return [-1] * len(spans)
    bounds = np.asarray(spans, dtype=np.int64)
    at = np.searchsorted(layout.tokens.starts, bounds)
    sizes: list[int] = (at[:, 1] - at[:, 0] + layout.special).tolist()
    last = len(text)
    for i, (start, end) in enumerate(spans):
        if not (
            (start == 0 or text[start - 1] in separators)
            and (end == last or text[end] in separators)
        ):
            sizes[i] = -1
    if fronts is not None:
        joined = "\n" in separators
        for i, (prefix, n_tokens) in enumerate(fronts):
            if prefix and sizes[i] >= 0:
                sizes[i] = sizes[i] + n_tokens if joined and n_tokens is not None else -1
    return sizes
