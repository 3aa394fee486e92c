"""A stage does not run ahead of the next one without bound."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jobs.adapters.lookahead import Lookahead


def _operator(active: int, *after: object) -> Any:
    class Operator(SimpleNamespace):
        __hash__ = object.__hash__

    return Operator(
        num_active_tasks=lambda: active,
        input_dependencies=["units"],
        output_dependencies=list(after),
    )


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


def test_a_stage_that_is_ahead_keeps_its_results() -> None:
    """What it has done counts as running until the next stage has room for it."""
    stage = _operator(2)
    ahead, behind = (Lookahead(None, {stage: _state(n)}, None, limit=4) for n in (2, 1))
    assert ahead.max_task_output_bytes_to_read(stage) == 0
    assert behind.max_task_output_bytes_to_read(stage) is None


def test_the_units_of_the_run_are_not_held_back() -> None:
    """The operator that holds them all at the start is not ahead of anybody."""
    units = _operator(0)
    units.input_dependencies = []
    policy = Lookahead(None, {units: _state(1_000)}, None, limit=4)
    assert policy.can_add_input(units)
    assert policy.max_task_output_bytes_to_read(units) is None
