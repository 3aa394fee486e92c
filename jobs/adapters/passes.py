"""Model passes: how windows and texts of any length are put through a transformer.

On a CPU passes are packed (:mod:`jobs.adapters.packed`) where the model's architecture
allows it. Everywhere else, inputs are batched with others of nearly the same length,
and the padded length of an input depends on that input alone, never on its neighbours.
On a GPU the next pass is prepared while one runs, and when its memory does not suffice,
passes are made smaller and the work goes on.

Shapes: B inputs of a pass, L padded length, E values of a token.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers.base.modules import Transformer

from jobs.adapters.heap import release
from jobs.adapters.packed import fill_passes, find_offset, packed_features

__all__ = ["ModelPasses", "Pass", "batches"]

_PADDING = 16
"""Padded lengths are multiples of this: few, so that batches fill; close, to waste little."""

Ids = NDArray[np.uint32]
Features = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Inputs that go through the model together.

    ``indices``: which; ``starts``: where the tokens of each begin when the token
    vectors of the whole pass stand in one row.
    """

    indices: Sequence[int]
    starts: Sequence[int]


Finish = Callable[[Features, Pass], torch.Tensor]
"""Makes the result of a pass of its token vectors, on the model's device."""


def batches(
    lengths: Sequence[int], *, longest: int, budget: int
) -> Iterator[tuple[int, list[int]]]:
    """Yield ``(padded length, indices)``: inputs of one padded length, longest first.

    ``budget`` is the most tokens of a batch, padding included; one input is always taken.
    """
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        padded = max(min(-(-length // _PADDING) * _PADDING, longest), length)
        groups.setdefault(padded, []).append(index)
    for padded in sorted(groups, reverse=True):
        size = max(budget // padded, 1)
        for first in range(0, len(groups[padded]), size):
            yield padded, groups[padded][first : first + size]


class ModelPasses:
    """Runs a model's transformer over token ids; ``packed`` says in which way.

    ``pad``: id that fills up; ``longest``: the window; ``budget``: most tokens of a
    padded pass; ``prompt_length``: tokens at the start of an input that are no text.
    ``tokens`` and ``rows`` count what has been through: tokens of inputs, and these with
    all that only fills.
    """

    def __init__(
        self, transformer: Transformer, *, pad: int, longest: int, budget: int, prompt_length: int
    ) -> None:
        self._transformer = transformer
        self._device = next(transformer.parameters()).device
        self._pad = pad
        self._longest = longest
        self._budget = budget
        self._prompt_length = prompt_length
        self.tokens = self.rows = 0
        on_cpu = self._device.type == "cpu"
        self._offset = find_offset(transformer, pad, longest) if on_cpu else None

    @property
    def packed(self) -> bool:
        """Whether passes are packed, without any padding of single inputs."""
        return self._offset is not None

    @property
    def budget(self) -> int:
        """Most tokens of a padded pass; smaller than asked for where memory was short."""
        return self._budget

    def run(
        self, inputs: Sequence[Ids], finish: Finish
    ) -> Iterator[tuple[Pass, NDArray[np.float32]]]:
        """Yield each pass with what ``finish`` makes of it, in the order of the passes.

        ``finish`` gets the features after the transformer, with ``token_embeddings``
        of shape B x L x E (packed: 1 x tokens x E).

        Raises:
            MemoryError: one input alone does not fit the GPU.
        """
        waiting: tuple[Pass, Callable[[], NDArray[np.float32]]] | None = None
        results = self._in_packed if self.packed else self._in_padded
        for done, result in results(inputs, finish):
            if waiting is not None:
                yield waiting[0], waiting[1]()
            waiting = done, _fetch(result)
        if waiting is not None:
            yield waiting[0], waiting[1]()
            release()

    def _in_packed(
        self, inputs: Sequence[Ids], finish: Finish
    ) -> Iterator[tuple[Pass, torch.Tensor]]:
        lengths = [len(part) for part in inputs]
        for indices in fill_passes(lengths):
            chosen = [inputs[i] for i in indices]
            features = packed_features(chosen, self._offset or 0, self._pad)
            starts = np.cumsum([0, *(lengths[i] for i in indices[:-1])]).tolist()
            one = Pass(indices=indices, starts=starts)
            yield one, self._through(one, features, chosen, finish)

    def _in_padded(
        self, inputs: Sequence[Ids], finish: Finish
    ) -> Iterator[tuple[Pass, torch.Tensor]]:
        lengths = [len(part) for part in inputs]
        todo = deque(batches(lengths, longest=self._longest, budget=self._budget))
        while todo:
            padded, indices = todo.popleft()
            if len(indices) > 1 and len(indices) * padded > self._budget:
                half = len(indices) // 2
                todo.extendleft([(padded, indices[half:]), (padded, indices[:half])])
                continue
            chosen = [inputs[i] for i in indices]
            one = Pass(indices=indices, starts=[row * padded for row in range(len(indices))])
            try:
                result = self._through(one, self._padded(chosen, padded), chosen, finish)
            except torch.OutOfMemoryError as error:
                if len(indices) == 1:
                    msg = f"an input of {padded} tokens does not fit the memory of {self._device}"
                    raise MemoryError(msg) from error
                self._budget = max(padded * len(indices) // 2, padded)
                torch.cuda.empty_cache()
                todo.appendleft((padded, indices))
                continue
            yield one, result

    @torch.inference_mode()
    def _through(
        self, one: Pass, features: Features, inputs: Sequence[Ids], finish: Finish
    ) -> torch.Tensor:
        features = {name: _moved(value, self._device) for name, value in features.items()}
        features["prompt_length"] = self._prompt_length
        rows = features["input_ids"].numel()
        result = finish(self._transformer(features), one)
        self.tokens += sum(len(part) for part in inputs)
        self.rows += rows
        return result

    def _padded(self, inputs: Sequence[Ids], padded: int) -> Features:
        ids = np.full((len(inputs), padded), self._pad, np.int64)
        mask = np.zeros((len(inputs), padded), np.int64)
        for row, part in enumerate(inputs):
            ids[row, : len(part)] = part
            mask[row, : len(part)] = 1
        return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}


def _moved(value: torch.Tensor, device: torch.device) -> torch.Tensor:
    if device.type != "cuda":
        return value.to(device)
    # From pinned memory the copy does not wait for what the GPU is doing.
    return value.pin_memory().to(device, non_blocking=True)


def _fetch(result: torch.Tensor) -> Callable[[], NDArray[np.float32]]:
    """Start the way of a result to the CPU; return what waits for it."""
    result = result.float()
    if result.device.type != "cuda":
        array: NDArray[np.float32] = result.cpu().numpy()
        return lambda: array
    host = torch.empty(result.shape, dtype=result.dtype, pin_memory=True)
    host.copy_(result, non_blocking=True)
    arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
    arrived.record()

    def wait() -> NDArray[np.float32]:
        arrived.synchronize()
        landed: NDArray[np.float32] = host.numpy()
        return landed

    return wait
