"""How far a stage may run ahead of the next one: a policy for the executor of Ray Data.

Ray bounds what waits between two stages in bytes of its object store, and small documents
take next to none of it: all of them would be parsed before the first bucket is embedded,
and a stop would lose as much. So units are counted.

The policy is Ray's interface without its base class: only the module that starts a Dataset
needs Ray at hand.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Lookahead"]


class Lookahead:
    """Lets no stage start a unit while ``limit`` of its units run or wait for the next stage.

    The units that the driver has not yet asked for count as waiting, too: a store that is
    slow to commit holds back the stages one after the other.

    Results are not taken then, either. Ray starts a unit against every policy when nothing
    runs, and so it is while the next stage loads its model; a unit whose result was not taken
    counts as running. Now and then Ray takes one all the same, which does no harm.
    """

    name = "Lookahead"

    def __init__(
        self,
        data_context: object,
        topology: Any,  # noqa: ANN401 - the states of Ray's operators, by operator
        resource_manager: object,
        *,
        limit: int,
    ) -> None:
        del data_context, resource_manager
        self._topology = topology
        self._limit = limit

    def can_add_input(self, op: Any) -> bool:  # noqa: ANN401 - Ray's operator
        """Tell whether the operator may start another unit."""
        return not self._is_ahead(op)

    def max_task_output_bytes_to_read(self, op: Any) -> int | None:  # noqa: ANN401
        """Return how much may be taken of what the operator has done; None is all."""
        return 0 if self._is_ahead(op) else None

    def _is_ahead(self, op: Any) -> bool:  # noqa: ANN401
        if not op.input_dependencies:  # it holds the units of the whole run
            return False
        waiting = self._topology[op].total_enqueued_output_blocks()
        for after in op.output_dependencies:
            waiting = max(waiting, self._topology[after].total_enqueued_input_blocks())
        return bool(op.num_active_tasks() + waiting >= self._limit)
