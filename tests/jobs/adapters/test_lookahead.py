"""A stage does not run ahead of the next one without bound."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jobs.adapters.lookahead import Lookahead


def _operator(active: int, *after: object) -> Any:
    class Operator(SimpleNamespace):
        __hash__ = object.__hash__

    return Operator(num_active_tasks=lambda: active, output_dependencies=list(after))


def _state(outputs: int, inputs: int = 0) -> Any:
    return SimpleNamespace(
        total_enqueued_output_blocks=lambda: outputs, total_enqueued_input_blocks=lambda: inputs
    )


@pytest.mark.parametrize(
    ("active", "outputs", "inputs", "may_start"),
    [(0, 0, 0, True), (2, 1, 1, True), (2, 2, 2, False), (4, 0, 0, False), (1, 0, 3, False)],
)
def test_running_and_waiting_units_count_together(
    active: int, outputs: int, inputs: int, *, may_start: bool
) -> None:
    """What runs, what waits between two stages, and what the next one holds back are one sum."""
    after = _operator(0)
    first = _operator(active, after)
    topology = {first: _state(outputs), after: _state(0, inputs)}
    policy = Lookahead(None, topology, None, limit=4)
    assert policy.can_add_input(first) is may_start


def test_the_last_stage_waits_for_the_driver() -> None:
    """Results that nobody has taken hold back the stage that made them."""
    last = _operator(1)
    assert Lookahead(None, {last: _state(2)}, None, limit=4).can_add_input(last)
    assert not Lookahead(None, {last: _state(3)}, None, limit=4).can_add_input(last)


def test_what_is_done_is_always_taken() -> None:
    """The policy holds back work, never results."""
    assert Lookahead(None, {}, None, limit=1).max_task_output_bytes_to_read(None) is None
