"""Who is to blame when workers die, told from what they had begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.journal import (
    BLAMED_IN_A_ROW,
    STARTS_IN_VAIN,
    UNWATCHED,
    Journal,
    Orders,
    Tally,
    Watch,
    Worker,
)

UNITS = [["a", "b", "c"], ["d", "e"], ["f"]]
FOREVER = 10**6


class KilledError(Exception):
    """A worker has died."""


class StoppedError(Exception):
    """The stage was given up."""


class Actor:
    """A worker that is started again whenever it has died, as the engine does it.

    ``deadly``: of how many workers more each document will be the death. ``kills``: at
    which steps somebody kills it, whatever it does; a step is a document.
    """

    def __init__(
        self,
        journal: Journal,
        deadly: Mapping[str, int] | None = None,
        kills: Sequence[int] = (),
        name: str = "one",
    ) -> None:
        self.lives = 0
        self._journal = journal
        self._deadly = dict(deadly or {})
        self._kills = set(kills)
        self._name = name
        self._steps = 0

    @property
    def worker(self) -> Worker:
        """The process of this moment."""
        process = f"{self._name}-{self.lives}"
        return Worker(stage="Stage", actor=self._name, process=process, node=f"node-{self._name}")

    def start(self) -> None:
        """Begin the next life."""
        self.lives += 1
        _check(self._journal.start(self.worker))

    def work(self, units: Sequence[Sequence[str]]) -> dict[str, bool]:
        """Do the units in turn; return of each document whether it was done or given up."""
        done: dict[str, bool] = {}
        self.start()
        for number, documents in enumerate(units):
            while documents[0] not in done:
                try:
                    done |= self._attempt(number, documents)
                except KilledError:
                    self.start()
        return done

    def _attempt(self, number: int, documents: Sequence[str]) -> dict[str, bool]:
        orders = self._journal.begin(self.worker, number)
        _check(orders.stop)
        careful = orders.careful or not orders.suspects.keys().isdisjoint(documents)
        watch = Watch(orders, careful, lambda doc: self._journal.document(self.worker, doc))
        done = {doc: self._document(doc, watch) for doc in documents}
        watch.together()
        self._journal.end(self.worker, careful=careful)
        return done

    def _document(self, doc: str, watch: Watch) -> bool:
        if watch.begin(doc, "parse") is not None:
            return False
        self._steps += 1
        left = self._deadly.get(doc, 0)
        if left or self._steps in self._kills:
            self._deadly[doc] = max(left - 1, 0)
            raise KilledError
        return True


def _check(stop: str | None) -> None:
    if stop is not None:
        raise StoppedError(stop)


def test_the_undisturbed_are_not_asked() -> None:
    """Without a death units are done as a whole: nobody tells of single documents."""
    journal = Journal(3, {})
    actor = Actor(journal)
    actor.start()
    assert journal.begin(actor.worker, 0) == Orders(limit=3)
    assert not journal.tally()
    assert UNWATCHED.begin("a", "parse") is None


@pytest.mark.parametrize(("attempts", "deaths"), [(1, 2), (2, 2), (3, 3), (5, 5)])
def test_a_deadly_document_costs_itself(attempts: int, deaths: int) -> None:
    """It is given up after so many deaths of its own, at least two; its neighbours are done."""
    journal = Journal(attempts, {})
    done = Actor(journal, {"b": FOREVER}).work(UNITS)
    assert [doc for doc, ok in done.items() if not ok] == ["b"]
    tally = journal.tally()
    # One more: that of the unit, while it was done as a whole.
    assert tally.workers == {"Stage": deaths + 1}
    assert tally.documents == {"Stage": {"b": deaths}}
    assert tally.given_up == 1


def test_the_row_says_why() -> None:
    """The error names the stage and how many workers died; it may be tried again."""
    watch = Watch(Orders(suspects={"b": 3}, limit=3), careful=True)
    error = watch.begin("b", "embed")
    assert error is not None
    assert (error.kind, error.stage, error.retryable) == ("crashed", "embed", True)
    assert "3 workers" in str(error)
    assert "stage embed" in str(error)


@given(
    deadly=st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 5)),
    attempts=st.integers(1, 4),
)
def test_who_kills_seldom_is_done(deadly: dict[str, int], attempts: int) -> None:
    """Given up is who kills as often as the limit after the death of the unit as a whole."""
    journal = Journal(attempts, {})
    done = Actor(journal, deadly).work(UNITS)
    limit = max(attempts, 2)
    for unit in UNITS:
        first = next((doc for doc in unit if deadly.get(doc)), None)
        for doc in unit:
            own = deadly.get(doc, 0) - (doc == first)
            assert done[doc] == (own < limit), doc


@given(kills=st.lists(st.integers(1, 14), max_size=2, unique=True))
def test_two_chance_deaths_blame_nobody(kills: list[int]) -> None:
    """Whenever somebody kills a worker, once or twice, every document is done."""
    journal = Journal(3, {})
    assert all(Actor(journal, kills=kills).work(UNITS).values())
    assert journal.tally().given_up == 0


@given(kills=st.lists(st.integers(1, 14), max_size=4, unique=True))
def test_lost_nodes_blame_nobody(kills: list[int]) -> None:
    """Workers that went with their node are counted; four of them give no document up."""
    journal = Journal(2, {}, node_is_lost=lambda node: node == "node-one")
    actor = Actor(journal, kills=kills)
    assert all(actor.work(UNITS).values())
    tally = journal.tally()
    assert (tally.with_node, tally.workers, tally.given_up) == (actor.lives - 1, {}, 0)


@pytest.mark.parametrize("attempts", [2, 3])
def test_a_document_that_takes_down_its_node_is_given_up(attempts: int) -> None:
    """A worker that went with its node counts half, so that this ends at some time, too."""
    journal = Journal(attempts, {}, node_is_lost=lambda node: node == "node-one")
    done = Actor(journal, {"b": FOREVER}).work(UNITS)
    assert [doc for doc, ok in done.items() if not ok] == ["b"]
    assert journal.tally() == Tally(
        with_node=2 * attempts + 1, documents={"Stage": {"b": attempts}}, given_up=1
    )


def test_a_unit_that_takes_down_its_nodes_ends_the_stage() -> None:
    """Where no document is in work alone, deaths of nodes do not go on for ever either."""
    journal = Journal(2, {}, node_is_lost=lambda _: True)
    actor = Actor(journal)
    with pytest.raises(StoppedError, match="died of unit 0 as a whole"):  # noqa: PT012 - a loop
        for _ in range(9):
            actor.start()
            _check(journal.begin(actor.worker, 0).stop)


def test_what_an_unfinished_run_noted_counts() -> None:
    """A run that goes on is careful with suspects, and does not touch who has the deaths."""
    journal = Journal(3, {"Stage": {"b": 3, "d": 2}, "Other": {"f": 3}})
    actor = Actor(journal, {"b": FOREVER, "d": FOREVER})
    done = actor.work(UNITS)
    assert [doc for doc, ok in done.items() if not ok] == ["b", "d"]
    assert journal.tally().workers == {"Stage": 1}
    assert journal.tally().documents == {"Stage": {"b": 3, "d": 3}, "Other": {"f": 3}}


def test_a_worker_thought_dead_is_not_heard() -> None:
    """What comes late from a process whose successor lives names nobody."""
    journal = Journal(2, {})
    actor = Actor(journal)
    actor.start()
    late = actor.worker
    journal.begin(late, 0)
    actor.start()
    assert journal.begin(actor.worker, 0).careful
    journal.document(actor.worker, "a")
    assert not journal.begin(late, 0).careful
    journal.document(late, "b")
    journal.end(late, careful=False)
    actor.start()
    assert journal.tally().documents == {"Stage": {"a": 1}}


def test_dying_while_idle_blames_the_unit_only_if_it_is_lost() -> None:
    """A result that died with its worker counts against its unit; another unit begins anew."""
    journal = Journal(2, {})
    actor = Actor(journal)
    for _ in range(2):
        actor.start()
        journal.begin(actor.worker, 0)
        journal.end(actor.worker, careful=False)
    actor.start()
    assert not journal.begin(actor.worker, 1).careful
    assert journal.begin(actor.worker, 0).careful
    assert journal.tally().documents == {}


def test_a_stage_that_dies_at_its_start_is_given_up() -> None:
    """After some deaths in a row without a unit begun it says so; one success forgets them."""
    journal = Journal(3, {})
    actor = Actor(journal)
    for _ in range(STARTS_IN_VAIN):
        actor.start()
    journal.begin(actor.worker, 0)
    for _ in range(STARTS_IN_VAIN):
        actor.start()
    with pytest.raises(StoppedError, match=rf"Stage: {STARTS_IN_VAIN} workers.*memory"):
        actor.start()


def test_of_a_large_pool_many_may_die_at_their_start() -> None:
    """Of many workers that start at once many may die, as they do of short memory."""
    journal = Journal(3, {})
    workers = [
        Worker(stage="Stage", actor=str(i), process=f"{i}", node="n", pool=9) for i in range(9)
    ]
    for worker in workers:
        assert journal.start(worker) is None
    again = [replace(worker, process=f"{worker.process} again") for worker in workers]
    assert all(journal.start(worker) is None for worker in again[:-1])
    assert journal.start(again[-1]) is not None


def test_where_all_kill_the_documents_are_not_blamed() -> None:
    """The stage is given up after some documents in a row, long before all are blamed."""
    documents = [str(number) for number in range(1000)]
    units = [documents[i : i + 8] for i in range(0, 1000, 8)]
    journal = Journal(3, {})
    actor = Actor(journal, dict.fromkeys(documents, FOREVER))
    with pytest.raises(StoppedError, match=rf"{BLAMED_IN_A_ROW} documents in a row.*3 times each"):
        actor.work(units)
    assert actor.lives <= 4 * (BLAMED_IN_A_ROW + 2)
    # Every other worker is told, and the run that goes on does not blame them.
    assert journal.begin(replace(actor.worker, actor="other", process="other"), 9).stop is not None
    assert journal.tally().documents == {}


def test_many_bad_documents_among_good_ones_do_not_stop_the_job() -> None:
    """As long as some are done between them, each deadly document costs itself only."""
    documents = [str(number) for number in range(60)]
    units = [documents[i : i + 6] for i in range(0, 60, 6)]
    deadly = [doc for doc in documents if int(doc) % 3]
    done = Actor(Journal(2, {}), dict.fromkeys(deadly, FOREVER)).work(units)
    assert [doc for doc, ok in done.items() if not ok] == deadly


def test_a_unit_that_kills_as_a_whole_stops_the_job() -> None:
    """No document is named where the death comes after all of them: the line says what to do."""
    journal = Journal(2, {})
    actor = Actor(journal)
    for _ in range(3):
        actor.start()
        assert journal.begin(actor.worker, 7).stop is None
        journal.document(actor.worker, "a")
        journal.document(actor.worker, None)
    actor.start()
    stop = journal.begin(actor.worker, 7).stop
    assert stop is not None
    assert "unit 7 as a whole" in stop
    assert "resources.unit_documents" in stop
