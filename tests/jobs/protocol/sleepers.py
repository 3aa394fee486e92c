"""Work that sleeps before one of its writes: in each store before another one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from jobs.adapters.stores.memory import MemoryStore
from jobs.ports import ObjectStore
from tests.jobs.protocol.simulation import WRITES, Actor


def sleepers(
    make: Callable[[], MemoryStore],
    job: Callable[[ObjectStore], object],
    *,
    least: int,
    stride: int = 1,
) -> Iterator[tuple[MemoryStore, Actor, str]]:
    """Yield stores where a job, holding the lease, sleeps: each time ``stride`` writes further on.

    What lies between two writes cannot be seen. The last job has ended undisturbed, after
    more than ``least`` writes.
    """
    for count in itertools.count(0, stride):
        store = make()
        actor = Actor(store, job)
        actor.run_until("create", "/lease/")
        actor.step()
        for _ in range(count):
            actor.run_until(WRITES, "")
            actor.step()
        actor.run_until(WRITES, "")
        ended = actor.ended
        yield store, actor, f"write {count}: {actor.next}"
        if ended:
            assert count > least
            return
