"""Which documents kill the worker that works on them: told by what the dead had begun.

A document may end a whole worker, not only the child that parses it: by a fault in native
code, or because the system kills what takes too much memory. The engine starts the worker
again and gives it the same unit, without end. So workers say what they begin before they
begin it, and a worker that is started again tells of the death of the process before it.

A unit is done as a whole at first. After one death it is done carefully: document by
document, each told, so that the next death has a name. A document with ``limit`` deaths
to its name is not touched again; its row says why. The death of a node has other reasons
most of the time, but a document may take its node down, too, and then the next, without
end: so a worker that went with its node counts half. What has other reasons for certain
blames no document: the death of the job itself, of a worker that had nothing begun. Where
not the documents can be to blame, the stage is given up in one clear line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chunking.errors import DocumentError

__all__ = ["UNWATCHED", "Journal", "Orders", "Tally", "Watch", "Worker"]

LEAST_DEATHS = 2
"""One death may always be chance."""
WITH_NODE = 0.5
"""What a death counts that came with the node's: nodes of the cheap kind die every night."""
STARTS_IN_VAIN = 5
"""Workers of a stage that died in a row before any of them was given a unit."""
BLAMED_IN_A_ROW = 10
"""Documents of a stage that were given up in a row, while none was done between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A process of a stage.

    ``actor`` stays the same when it is started again, ``process`` does not. ``node``: where
    it runs. ``pool``: how many of its kind there are.
    """

    stage: str
    actor: str
    process: str
    node: str
    pool: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a worker is told when it begins a unit.

    ``careful``: somebody died of the unit. ``suspects``: deaths by document, of the whole
    stage; from ``limit`` deaths on a document is not touched. ``stop``: why the stage is to
    be given up instead.
    """

    careful: bool = False
    suspects: Mapping[str, float] = field(default_factory=dict)
    limit: int = LEAST_DEATHS
    stop: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What is known of the dead.

    ``workers``: deaths by stage, those that went with their node aside; ``with_node``:
    those. ``documents``: deaths by document, by stage, those with a node counted half;
    ``given_up``: how many documents have reached the limit in this run.
    """

    workers: Mapping[str, int] = field(default_factory=dict)
    with_node: int = 0
    documents: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    given_up: int = 0

    def __bool__(self) -> bool:
        return bool(self.workers or self.with_node)

    def as_dict(self) -> dict[str, object]:
        """Return the counts for a report."""
        return {
            "workers": dict(self.workers),
            "with_node": self.with_node,
            "documents_given_up": self.given_up,
        }


@dataclass(frozen=True, slots=True)
class Watch:
    """How a stage tells of the documents of one unit; it asks only where it is ``careful``."""

    orders: Orders = field(default_factory=Orders)
    careful: bool = False
    tell: Callable[[str | None], object] = lambda _: None

    def begin(self, doc_id: str, stage: str) -> DocumentError | None:
        """Tell that a document is begun, or return why it is not to be touched."""
        if not self.careful:
            return None
        deaths = self.orders.suspects.get(doc_id, 0)
        if deaths < self.orders.limit:
            self.tell(doc_id)
            return None
        self.tell(None)
        msg = (
            f"{deaths:g} workers were killed or crashed while they had this document alone in "
            f"work (stage {stage}; one that went with its node counts half), so it was given up; "
            "memory or a fault in native code is the likely reason. Later runs try again, within "
            "limits.attempts"
        )
        return DocumentError(msg, kind="crashed", stage=stage, retryable=True)

    def together(self) -> None:
        """Tell that what follows is of the unit, not of one document."""
        if self.careful:
            self.tell(None)


UNWATCHED = Watch()
"""For work in this process, whose death is that of the job."""


def _zeros() -> defaultdict[Any, float]:
    return defaultdict(float)


@dataclass(slots=True)
class _Life:
    """A process, and what it has begun last."""

    worker: Worker
    unit: int | None = None
    document: str | None = None
    ended: bool = False


@dataclass(slots=True)
class _Deaths:
    """The dead of one stage; ``units``: those that no document is named for.

    ``row``: the documents that were given up since one was done.
    """

    workers: int = 0
    in_vain: int = 0
    units: defaultdict[int, float] = field(default_factory=_zeros)
    documents: defaultdict[str, float] = field(default_factory=_zeros)
    row: list[str] = field(default_factory=list)
    given_up: int = 0
    stop: str | None = None
    ended_by: dict[int, str] = field(default_factory=dict)
    died_idle: set[str] = field(default_factory=set)


class Journal:
    """Takes what workers tell, finds the dead among them, and says how to go on.

    ``attempts``: deaths that blame a document, at least two. ``known``: deaths by document,
    by stage, that an unfinished run has left. ``node_is_lost``: whether a node is gone, and
    its workers with it.
    """

    def __init__(
        self,
        attempts: int,
        known: Mapping[str, Mapping[str, float]],
        *,
        node_is_lost: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._limit = max(attempts, LEAST_DEATHS)
        self._node_is_lost = node_is_lost
        self._lives: dict[str, _Life] = {}
        self._buried: set[str] = set()
        self._stages: dict[str, _Deaths] = {}
        self._with_node = 0
        for stage, documents in known.items():
            self._stage(stage).documents.update(documents)

    def start(self, worker: Worker) -> str | None:
        """Take note that a process is made; return why it should not be, if so."""
        deaths = self._stage(worker.stage)
        if self._life(worker) is None or deaths.in_vain < max(STARTS_IN_VAIN, worker.pool):
            return None
        return (
            f"{worker.stage}: {deaths.in_vain} workers in a row died while they started, before "
            f"any document was begun. {_ADVICE}"
        )

    def begin(self, worker: Worker, unit: int) -> Orders:
        """Take note that a unit is begun; return how it is to be done."""
        life, deaths = self._life(worker), self._stage(worker.stage)
        if life is None:
            return Orders()
        deaths.in_vain = 0
        ended_by = deaths.ended_by.pop(unit, "")
        if ended_by in deaths.died_idle:
            # Its result died with the process that had ended it.
            deaths.died_idle.discard(ended_by)
            deaths.units[unit] += 1
        life.unit, life.document, life.ended = unit, None, False
        return Orders(
            careful=deaths.units.get(unit, 0) > 0,
            suspects=dict(deaths.documents),
            limit=self._limit,
            stop=self._reason_to_stop(worker.stage, unit),
        )

    def document(self, worker: Worker, doc_id: str | None) -> None:
        """Take note of the document that is begun, or that the unit goes on as a whole."""
        life = self._life(worker)
        if life is None:
            return
        if life.document is not None:
            self._stage(worker.stage).row.clear()
        life.document = doc_id

    def end(self, worker: Worker, *, careful: bool) -> None:
        """Take note that the worker has ended its unit."""
        life, deaths = self._life(worker), self._stage(worker.stage)
        if life is None or life.unit is None:
            return
        if not careful:
            deaths.row.clear()
        life.ended, life.document = True, None
        deaths.ended_by[life.unit] = worker.process

    def tally(self) -> Tally:
        """Return what is known of the dead."""
        stages = self._stages
        return Tally(
            workers={name: found.workers for name, found in stages.items() if found.workers},
            with_node=self._with_node,
            documents={
                name: dict(found.documents) for name, found in stages.items() if found.documents
            },
            given_up=sum(found.given_up for found in stages.values()),
        )

    def _stage(self, name: str) -> _Deaths:
        return self._stages.setdefault(name, _Deaths())

    def _life(self, worker: Worker) -> _Life | None:
        """Return the life of a process; None if it was thought dead, and is not heard any more."""
        if worker.process in self._buried:
            return None
        life = self._lives.get(worker.actor)
        if life is None or life.worker.process != worker.process:
            if life is not None:
                self._bury(life)
            life = self._lives[worker.actor] = _Life(worker)
        return life

    def _bury(self, life: _Life) -> None:
        """Take note of a death, under the name of what was begun last."""
        self._buried.add(life.worker.process)
        deaths = self._stage(life.worker.stage)
        if self._node_is_lost(life.worker.node):
            self._with_node += 1
            self._lay(deaths, life, WITH_NODE)
            return
        deaths.workers += 1
        if life.unit is None:
            deaths.in_vain += 1
        elif life.ended:
            deaths.died_idle.add(life.worker.process)
        else:
            self._lay(deaths, life, 1)

    def _lay(self, deaths: _Deaths, life: _Life, count: float) -> None:
        """Lay a death to the unit that was in work, or to the document if it was alone."""
        if life.unit is None or life.ended:
            return
        if life.document is None:
            deaths.units[life.unit] += count
            return
        before = deaths.documents[life.document]
        deaths.documents[life.document] += count
        if before < self._limit <= before + count:
            deaths.given_up += 1
            deaths.row.append(life.document)

    def _reason_to_stop(self, stage: str, unit: int) -> str | None:
        deaths = self._stage(stage)
        if len(deaths.row) >= BLAMED_IN_A_ROW:
            deaths.stop = (
                f"{stage}: {len(deaths.row)} documents in a row killed their worker "
                f"{self._limit} times each, and none was done between them, so the documents are "
                f"not to blame. {_ADVICE}"
            )
            # The run that goes on, when this is mended, must try them.
            for doc_id in deaths.row:
                del deaths.documents[doc_id]
            deaths.row.clear()
        if deaths.stop is not None:
            return deaths.stop
        # The first death was of the unit as a whole, before it was done with care.
        if deaths.units.get(unit, 0) > self._limit:
            return (
                f"{stage}: {deaths.units[unit]:g} workers died of unit {unit} as a whole (one "
                "that went with its node counts half), while none of its documents was in work "
                "alone; with a smaller resources.unit_documents it takes less memory. "
                f"{_ADVICE}"
            )
        return None


_ADVICE = (
    "Most likely memory is short or a native library is broken: give the nodes more memory or "
    "run fewer workers (resources.parse_workers, resources.embed_workers), and look into the "
    "workers' logs of Ray; then run the same command again to go on"
)
