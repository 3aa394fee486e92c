from __future__ import annotations

import random

import pytest

from jobs.adapters.packed import PASS_TOKENS, SHARED_TOKENS, fill_passes
from jobs.adapters.passes import batches


def test_batches_keep_padded_lengths_apart_and_the_budget() -> None:
    """One padded length a batch, within the budget, every input once, the longest first."""
    lengths = [3, 16, 17, 256, 250, 100, 3, 241, 300]
    found = list(batches(lengths, longest=256, budget=512))
    assert sorted(i for _, indices in found for i in indices) == list(range(len(lengths)))
    assert [padded for padded, _ in found] == sorted((p for p, _ in found), reverse=True)
    for padded, indices in found:
        assert padded * len(indices) <= 512
        for i in indices:
            assert lengths[i] <= padded < lengths[i] + 16


@pytest.mark.parametrize("low", [1, 100, 240])
def test_packed_passes_hold_every_input_once_and_waste_little(low: int) -> None:
    """Short inputs share passes within their room; a long one has its own."""
    draw = random.Random(low)
    lengths = [draw.randint(low, 256) for _ in range(500)] + [
        SHARED_TOKENS,
        SHARED_TOKENS + 1,
        9000,
    ]
    passes = list(fill_passes(lengths))
    assert sorted(i for indices in passes for i in indices) == list(range(len(lengths)))
    shared = [indices for indices in passes if lengths[indices[0]] <= SHARED_TOKENS]
    sizes = [sum(lengths[i] for i in indices) for indices in shared]
    assert max(sizes) <= PASS_TOKENS
    assert all(len(indices) == 1 for indices in passes if indices not in shared)
    assert sum(sizes) >= 0.95 * PASS_TOKENS * (len(sizes) - 1)


def test_nothing_makes_no_pass() -> None:
    """No input, no pass."""
    assert list(fill_passes([])) == []
    assert list(batches([], longest=256, budget=512)) == []
