"""Schedules: what happens to one dataset, and when, all drawn from one seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jobs.protocol.fail_points import FAIL_POINTS

__all__ = ["EVENTS", "Event", "Round", "Schedule", "make_schedule"]

N_WORLDS = 4
N_REAL_WORLDS = 2
_POSTS = (  # moments of a run, by the request that marks them, and how often it is met
    ("marker", 8, 5),
    ("version", 3, 5),
    ("copy", 9, 5),
    ("data", 9, 2),
    ("unit", 20, 2),
    ("fetch", 30, 2),
    ("read", 60, 1),
    ("beat", 12, 1),
    ("plan", 1, 1),
    ("lease", 1, 1),
    ("dataset", 1, 1),
    ("end", 2, 1),
)
EVENTS = {  # how often an event is drawn, and the moments that suit it, any if none is named
    "kill driver": (6, ()),
    "kill parse worker": (3, ("fetch",)),
    "kill embed worker": (3, ("fetch", "unit")),
    "kill commit worker": (4, ("unit", "marker")),
    "kill publish worker": (4, ("data", "version", "copy")),
    "kill node": (3, ("fetch", "unit", "marker", "version", "copy")),
    "kill store": (3, ()),
    "freeze driver": (4, ("plan", "fetch", "marker", "version", "copy", "end")),
    "freeze worker": (2, ("fetch", "unit", "marker", "data", "version", "copy")),
    "full scratch": (2, ("fetch",)),
    "full dataset": (0, ("fetch",)),
    "SIGTERM": (2, ()),
    "Ctrl-C": (2, ()),
    "store errors": (3, ()),
    "lost answer": (4, ("lease", "plan", "marker", "version", "copy", "data", "end")),
    "lost request": (2, ()),
    "cut body": (2, ("fetch", "read")),
    "slow store": (2, ()),
    "silent store": (2, ()),
}
_FATAL = frozenset({"kill driver", "SIGTERM", "Ctrl-C", "freeze driver"})
# Moments in the order in which a run passes them; the rest come at any time.
_ORDER = ("lease", "dataset", "plan", "fetch", "unit", "marker", "data", "version", "copy", "end")
_ON_START = ("lease.", "dataset.", "plan.", "adopt.", "fence.", "roll.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happens at the ``number``-th request of a kind.

    ``before``: before the request has its effect, else after. ``amount``: seconds or
    requests that it lasts, where it lasts.
    """

    kind: str
    post: str
    number: int
    before: bool
    amount: float

    def __str__(self) -> str:
        side = "before" if self.before else "after"
        return f"{self.kind} {side} {self.post} {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One start of the command, and what happens to it.

    ``state``: what the source is brought to before; None leaves it. ``clock``: seconds by
    which the driver's wall clock is wrong.
    """

    events: tuple[Event, ...] = ()
    state: str | None = None
    fail_point: str | None = None
    clock: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One dataset's life.

    ``real``: with docling and MiniLM. ``history``: ``fresh`` (nothing was there), ``update``
    (a dataset of the first state was there) or ``meanwhile`` (the source changes while the
    first run is still unfinished). ``local``: the dataset is a folder on a small disk.
    """

    name: str
    world: int
    real: bool
    history: str
    local: bool
    settings: tuple[str, ...]
    rounds: tuple[Round, ...]

    @property
    def final_state(self) -> str:
        """State of the source in the end."""
        return {"fresh": "first", "update": "second", "meanwhile": "meanwhile"}[self.history]

    def told(self) -> str:
        """Return all that happens, in one line."""
        parts = []
        for turn in self.rounds:
            things = [str(event) for event in turn.events]
            things += [f"fail point {turn.fail_point}"] if turn.fail_point else []
            things += [f"clock {turn.clock:+.0f} s"] if turn.clock else []
            things += ["source changes"] if turn.state not in (None, "first") else []
            parts.append(", ".join(things) or "nothing")
        return "; ".join(parts)


def make_schedule(name: str) -> Schedule:
    """Return the schedule of a name: a number, or ``r`` and a number for the real parsers."""
    chance = random.Random(f"chunkmill-{name}")  # noqa: S311 - a schedule, not a secret
    real = name.startswith("r")
    history = chance.choices(("fresh", "update", "meanwhile"), (5, 4, 2))[0]
    local = not real and chance.random() < 0.08  # noqa: PLR2004 - a few are enough
    n_rounds = chance.choices((1, 2, 3), (5, 4, 1))[0]
    # Of a dataset that is there, some documents are left to do, and so few requests.
    # What a first round did need not be done again.
    shares = [(0.4 if history == "update" else 1.0) * 0.6**number for number in range(n_rounds)]
    rounds = [_round(chance, number, shares[number], local=local) for number in range(n_rounds)]
    # Where another round follows, something must be left for it to do.
    rounds[:-1] = [_must_end(chance, turn) for turn in rounds[:-1]]
    states: list[str | None] = [None] * n_rounds
    states[0] = "second" if history == "update" else "first"
    if history == "meanwhile":
        if n_rounds == 1:
            rounds.append(Round())
            states.append(None)
        states[1] = "meanwhile"
        rounds[0] = _must_end(chance, rounds[0])
    return Schedule(
        name=name,
        world=chance.randrange(N_REAL_WORLDS if real else N_WORLDS),
        real=real,
        history=history,
        local=local,
        settings=_settings(chance, real=real),
        rounds=tuple(
            Round(events=turn.events, state=state, fail_point=turn.fail_point, clock=turn.clock)
            for turn, state in zip(rounds, states, strict=True)
        ),
    )


def _round(chance: random.Random, number: int, share: float, *, local: bool) -> Round:
    if chance.random() < 0.2:  # noqa: PLR2004 - one round in five dies at a fail point
        return Round(fail_point=_fail_point(chance, first=number == 0), clock=_clock(chance))
    kinds = list(EVENTS)
    weights = [EVENTS[kind][0] for kind in kinds]
    if local:
        weights[kinds.index("full dataset")] = 20
    chosen: list[Event] = []
    for kind in chance.choices(kinds, weights, k=chance.choices((1, 2, 3), (3, 4, 2))[0]):
        if not (kind in _FATAL and any(event.kind in _FATAL for event in chosen)):
            chosen.append(_event(chance, kind, share, local=local))
    return Round(events=_fatal_last(chosen), clock=_clock(chance))


def _fatal_last(events: Sequence[Event]) -> tuple[Event, ...]:
    """Return the events, the one that ends the run at the last moment: else others are missed."""

    def moment(event: Event) -> tuple[int, int]:
        return (_ORDER.index(event.post) if event.post in _ORDER else 3, event.number)

    fatal = next((event for event in events if event.kind in _FATAL), None)
    last = max(events, key=moment)
    if fatal is None or moment(fatal) > moment(last):
        return tuple(events)
    if EVENTS[fatal.kind][1] and last.post not in EVENTS[fatal.kind][1]:
        later = replace(fatal, post="version", number=1)
    else:
        later = replace(fatal, post=last.post, number=last.number + 1)
    return tuple(later if event is fatal else event for event in events)


def _event(chance: random.Random, kind: str, share: float, *, local: bool) -> Event:
    suits = EVENTS[kind][1]
    posts = [post for post in _POSTS if not suits or post[0] in suits]
    if local:
        posts = [post for post in _POSTS if post[0] == "fetch"]
    post, most, _ = chance.choices(posts, [post[2] for post in posts])[0]
    return Event(
        kind=kind,
        post=post,
        number=chance.randint(1, max(round(most * share), 1)),
        before=kind == "lost request" or (kind != "lost answer" and chance.random() < 0.4),  # noqa: PLR2004
        amount=chance.uniform(0.5, 4.0),
    )


def _must_end(chance: random.Random, turn: Round) -> Round:
    """Return the round with something that ends its run before it is done."""
    if turn.fail_point or any(event.kind in _FATAL for event in turn.events):
        return turn
    post, number = chance.choice((("marker", 2), ("fetch", 8), ("unit", 5)))
    end = Event(kind="kill driver", post=post, number=number, before=False, amount=0)
    return Round(events=_fatal_last((*turn.events, end)), clock=turn.clock)


def _fail_point(chance: random.Random, *, first: bool) -> str:
    """Return an armed fail point; those of rolling forward need something to roll."""
    late: Sequence[str] = [name for name in FAIL_POINTS if not name.startswith(_ON_START)]
    name = chance.choice(late if first and chance.random() < 0.7 else FAIL_POINTS)  # noqa: PLR2004
    number = chance.choice((1, 1, 1, 2, 3))
    action = chance.choices(("kill", "exit", "raise"), (4, 1, 2))[0]
    return f"{name}:{number}={action}"


def _clock(chance: random.Random) -> float:
    if chance.random() < 0.85:  # noqa: PLR2004 - most clocks are right
        return 0.0
    return chance.choice((-1, 1)) * chance.choice((90.0, 7200.0, 86_400.0 * 400))


def _settings(chance: random.Random, *, real: bool) -> tuple[str, ...]:
    parse, embed = chance.choice(((1, 1), (1, 1), (2, 1), (1, 2)))
    return (
        f"resources.unit_documents={chance.choice((2, 3) if real else (2, 4, 6))}",
        f"resources.parse_workers={parse}",
        f"resources.embed_workers={embed}",
    )
