"""Any run may die between any two store operations, or wake up as a zombie: nothing is lost.

For a longer search than the default one, which says at its end what it has played::

    CHUNKMILL_STATE_MACHINE_EXAMPLES=1000 python -m pytest -n 0 --timeout 0 \
        tests/jobs/protocol/test_state_machine.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

from tests.jobs.protocol.laws import PLAYED
from tests.jobs.protocol.machine import PartitionedMachine, ProtocolMachine, SparseMachine

EXAMPLES = os.environ.get("CHUNKMILL_STATE_MACHINE_EXAMPLES")
N_EXAMPLES = 12
N_SPARSE = 2
STEPS = 12


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Keep Arrow from using threads for a handful of rows."""
    n_cpus, n_io = pa.cpu_count(), pa.io_thread_count()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    yield
    pa.set_cpu_count(n_cpus)
    pa.set_io_thread_count(n_io)


@pytest.fixture(autouse=True, scope="module")
def told(request: pytest.FixtureRequest) -> Iterator[None]:
    """Say at the end of a long search what was played."""
    yield
    capture = request.config.pluginmanager.getplugin("capturemanager")
    if EXAMPLES is not None and capture is not None:
        with capture.global_and_fixture_disabled():
            print("\nplayed:", ", ".join(f"{n:,} {what}" for what, n in PLAYED.items()))


def profile(examples: int) -> settings:
    """Return Hypothesis settings: the same examples each time, or other ones in a long search."""
    return settings(
        max_examples=int(EXAMPLES or examples),
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=EXAMPLES is None,
        database=None,
        print_blob=True,
    )


TestProtocol = ProtocolMachine.TestCase
TestProtocol.settings = profile(N_EXAMPLES)
TestPartitioned = PartitionedMachine.TestCase
TestPartitioned.settings = profile(N_EXAMPLES)
TestSparse = SparseMachine.TestCase
TestSparse.settings = profile(N_SPARSE)
