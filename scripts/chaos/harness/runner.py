"""One schedule from its first start to the verdict."""

from __future__ import annotations

import json
import math
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from jobs.protocol.fail_points import VARIABLE
from scripts.chaos.harness import judge
from scripts.chaos.harness.drivers import Driver
from scripts.chaos.harness.listing import etags
from scripts.chaos.harness.places import DATASETS, DONE, Places
from scripts.chaos.harness.plain_reader import FolderTables, PlainReader, S3Tables
from scripts.chaos.harness.plans import Event, Round, Schedule
from scripts.chaos.harness.ray_nodes import owner_of, send
from scripts.chaos.harness.s3_proxy import Request, Trigger

__all__ = ["Result", "run_schedule"]

_MOST_RUNS = 8
_NODE_GONE_S = 4.0
_LOOK_S = 0.5
_SENDERS = {"kill commit worker": "commit", "kill publish worker": "publish"}
_ROLES = {**_SENDERS, "kill parse worker": "parse", "kill embed worker": "embed"}
_USUAL = frozenset({*DONE, 1, 2, 70, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT})


@dataclass(kw_only=True)
class Result:
    """How a schedule went; ``faults`` are violations.

    ``resumed``: seconds of the run that ended a disturbed one's work. ``healed``: documents
    that a disturbed run had left as failed, for a reason that was not theirs.
    """

    name: str
    told: str
    met: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    statuses: list[int | None] = field(default_factory=list)
    seconds: float = 0.0
    resumed: float | None = None
    healed: int = 0
    looks: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """Whether nothing was lost, doubled, different or half."""
        return not self.faults

    def line(self) -> str:
        """Return the result in one line."""
        verdict = "equal" if self.right else f"WRONG: {self.faults[0]}"
        resumed = f", resumed in {self.resumed:.0f} s" if self.resumed is not None else ""
        missed = f" (not met: {', '.join(self.missed)})" if self.missed else ""
        return (
            f"{self.name}: {self.told}{missed} | exit codes {self.statuses} | "
            f"{self.seconds:.0f} s{resumed}, {self.looks} looks | {verdict}"
        )


def run_schedule(places: Places, schedule: Schedule, patience: float) -> Result:
    """Run a schedule and judge it; what a violation left is kept."""
    run = _Run(places, schedule, patience)
    began = time.monotonic()
    try:
        run.prepare()
        run.disturb()
        run.finish()
        run.judge()
    finally:
        run.close()
    run.result.seconds = time.monotonic() - began
    run.result.looks = run.reader.looks
    return run.result


class _Run:
    """A schedule while it runs. Events happen in threads of the proxy, one at a time."""

    def __init__(self, places: Places, schedule: Schedule, patience: float) -> None:
        self.places, self.schedule, self._patience = places, schedule, patience
        kind = "local " if schedule.local else ""
        told = f"{kind}world {schedule.world} {schedule.history}: {schedule.told()}"
        self.result = Result(name=schedule.name, told=told)
        self._name = f"schedule-{schedule.name}"
        self._folder = places.work / self._name
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        local = places.small.folder / self._name
        self._target = str(local) if schedule.local else f"s3://{DATASETS}/{self._name}"
        tables = FolderTables(local) if schedule.local else None
        self.reader = PlainReader(
            tables or S3Tables(places.store.client(), DATASETS, f"{self._name}/")
        )
        self._driver: Driver | None = None
        self._others: list[Driver] = []
        self._stopped: list[int] = []
        self._timers: list[threading.Timer] = []
        self._acting = threading.Lock()
        self._late: dict[str, str] | None = None
        self._told: list[Event] = []
        self._began = 0.0
        self._mend_at = math.inf

    # ------------------------------------------------------------- the way of a schedule

    def prepare(self) -> None:
        """Make the references, and what was there before."""
        for state in self._states():
            self.places.reference(self.schedule.world, state, real=self.schedule.real)
        if self.schedule.history == "update" and not self.schedule.local:
            kind = "real" if self.schedule.real else "world"
            self.places.copy(f"reference-{kind}-{self.schedule.world}-first", self._name)
        self.places.watch(self.schedule.world, self._name, real=self.schedule.real)
        self.reader.start()
        if self.schedule.history == "update" and self.schedule.local:
            self._put("first")
            self._start(Round()).wait(self._patience)

    def disturb(self) -> None:
        """Run every round until its driver has ended."""
        for number, turn in enumerate(self.schedule.rounds):
            if turn.state is not None:
                self._put(turn.state)
            elif number and self._done():
                self.result.missed += [str(event) for event in turn.events]
                continue
            self.places.mend()
            self.places.proxy.arm([self._trigger(event) for event in turn.events])
            self._driver = self._start(turn)
            self._wait(self._driver)
            self._settle()
            self._miss(turn)

    def finish(self) -> None:
        """Run the same command until it is done."""
        disturbed = not self._done()
        for _ in range(_MOST_RUNS):
            if self._done() and not self._others and not self._to_retry():
                return
            self._others.clear()
            self.places.mend()
            began = time.monotonic()
            self._driver = self._start(Round())
            self._wait(self._driver)
            if disturbed and self._done() and self.result.resumed is None:
                self.result.resumed = time.monotonic() - began
            if not self._done():
                time.sleep(1)
        if not self._done() or self._to_retry():
            self._blame(f"not done after {_MOST_RUNS} undisturbed runs")

    def judge(self) -> None:
        """Compare with the undisturbed dataset, verify, and replay the feed."""
        self.reader.stop()
        schedule = self.schedule
        references = [
            self.places.reference(schedule.world, state, real=schedule.real)
            for state in self._states()
        ]
        expected = self.places.reference(schedule.world, schedule.final_state, real=schedule.real)
        found = self._downloaded()
        self.result.faults += judge.compare(expected, found)
        self.result.faults += judge.replay_faults(found)
        self.result.faults += self.reader.faults
        self.result.faults += self.reader.differences(judge.expected_wholes(references))
        self._verify()

    def close(self) -> None:
        """End what is left; remove everything unless something is wrong."""
        for timer in self._timers:
            timer.cancel()
        self._continue_all()
        for driver in (self._driver, *self._others):
            if driver is not None and driver.status is None:
                driver.send(signal.SIGKILL)
                driver.wait(60)
        self.reader.stop()
        self.places.mend()
        if self.result.right:
            shutil.rmtree(self._folder, ignore_errors=True)
            self.places.remove(self._name)
            if self.schedule.local:
                shutil.rmtree(self._target, ignore_errors=True)
        else:
            text = "\n".join([self.result.line(), *self.result.faults]) + "\n"
            (self._folder / "verdict.txt").write_text(text)

    # ------------------------------------------------------------- drivers

    def _start(self, turn: Round) -> Driver:
        schedule = self.schedule
        settings = list(schedule.settings)
        argv = self.places.command(schedule.world, self._target, settings, real=schedule.real)
        env = {}
        if turn.fail_point:
            everywhere = {"env_vars": {VARIABLE: turn.fail_point}}
            # As a job that was submitted: Ray gives its workers the variable, too.
            env["RAY_JOB_CONFIG_JSON_ENV_VAR"] = json.dumps({"runtime_env": everywhere})
            env[VARIABLE] = turn.fail_point
        self._began = time.time()
        log = self._folder / "runs.log"
        with log.open("a") as stream:
            stream.write(f"--- start {len(self.result.statuses)}: {turn}\n")
        return self.places.start(argv, log, env, turn.clock, real=schedule.real)

    def _wait(self, driver: Driver) -> None:
        """Wait for a driver's end; one that does not end is a violation."""
        status = self._ended(driver)
        if status is None:
            self._continue_all()
            status = self._ended(driver)
        if status is None:
            self._blame(f"a run did not end in {self._patience:.0f} s")
            driver.send(signal.SIGKILL)
            status = driver.wait(60)
        elif status not in _USUAL:
            self._blame(f"a run ended with {status}")
        self.result.statuses.append(status)

    def _ended(self, driver: Driver) -> int | None:
        """Wait for a driver's end; None if it takes longer than any run should."""
        patient = time.monotonic() + self._patience
        while driver.wait(_LOOK_S) is None and time.monotonic() < patient:
            # Ray starts nodes in the main thread only, which is this one.
            if time.monotonic() > self._mend_at:
                self._mend_at = math.inf
                self.places.nodes.mend()
        return driver.status

    def _settle(self) -> None:
        """Wait for the drivers beside, the stopped ones being continued in the end."""
        with self._acting:
            others = [driver for driver in self._others if driver is not self._driver]
        for driver in others:
            if driver.status is None:
                self._wait(driver)
        if self._late is not None:
            now = judge.chain(self.places.client, DATASETS, f"{self._name}/")
            if now != self._late:
                self._blame("a driver that had lost the lease committed a version")
            self._late = None

    def _done(self) -> bool:
        return bool(self.result.statuses) and self.result.statuses[-1] in DONE

    def _to_retry(self) -> bool:
        """Whether a document failed by what the store did: the next run tries it again."""
        left = judge.retryable(self._downloaded())
        self.result.healed = max(self.result.healed, left)
        return bool(left)

    # ------------------------------------------------------------- events

    def _trigger(self, event: Event) -> Trigger:
        def action(request: Request) -> str | None:
            with self._acting:
                return self._happen(event, request)

        return Trigger(kind=event.post, number=event.number, before=event.before, action=action)

    def _happen(self, event: Event, request: Request) -> str | None:
        fault, happened = self._act(event, request)
        self._told.append(event)
        (self.result.met if happened else self.result.missed).append(str(event))
        return fault

    def _act(self, event: Event, request: Request) -> tuple[str | None, bool]:  # noqa: C901, PLR0911, PLR0912 - one line per kind
        proxy, amount = self.places.proxy, event.amount
        match event.kind:
            case "kill driver":
                return None, self._signal(signal.SIGKILL)
            case "SIGTERM":
                return None, self._signal(signal.SIGTERM)
            case "Ctrl-C":
                return None, self._signal(signal.SIGINT)
            case "freeze driver":
                return None, self._freeze_driver(event)
            case "freeze worker":
                return None, self._freeze_worker(request, amount)
            case "kill node":
                self._mend_at = time.monotonic() + _NODE_GONE_S
                return None, self.places.nodes.kill_node() is not None
            case "kill store":
                self.places.store.kill()
                self._later(amount, self.places.store.start)
                return "drop", True
            case "full scratch":
                return None, self.places.scratch.fill(amount)
            case "full dataset":
                return None, self.places.small.fill(amount * 2)
            case "store errors":
                kinds = ("slow_down", "internal", "unavailable")
                proxy.spoil(int(amount * 3), kinds[event.number % 3])
            case "lost answer" | "lost request":
                return "drop", True
            case "cut body":
                return "cut", not event.before
            case "slow store":
                proxy.be_slow(amount * 2, 0.4)
            case "silent store":
                proxy.fall_silent(amount)
            case _:
                return self._kill_worker(event, request)
        return None, True

    def _signal(self, number: int) -> bool:
        return self._driver is not None and self._driver.send(number)

    def _kill_worker(self, event: Event, request: Request) -> tuple[str | None, bool]:
        """Kill the request's own sender where it is a worker of this kind, else another one."""
        workers = self.places.nodes.workers(_ROLES[event.kind])
        sender = owner_of(request.port, workers)
        victim = sender or next(iter(workers), None)
        if not self.places.nodes.address:
            return None, self._signal(signal.SIGKILL)
        if victim is None or not send(victim.pid, signal.SIGKILL):
            return None, False
        return ("drop" if sender is not None else None), True

    def _freeze_worker(self, request: Request, seconds: float) -> bool:
        workers = self.places.nodes.workers()
        wanted = [w for w in workers if w.role in _ROLES.values()]
        victim = owner_of(request.port, wanted) or next(iter(wanted), None)
        if victim is None or not send(victim.pid, signal.SIGSTOP):
            return False
        pid = victim.pid
        self._stopped.append(pid)
        self._later(seconds * 2, lambda: send(pid, signal.SIGCONT))
        return True

    def _freeze_driver(self, event: Event) -> bool:
        """Stop the driver, let another take over, and continue the first, late."""
        first = self._driver
        if first is None or not first.send(signal.SIGSTOP):
            return False
        held = self._leases()
        rival = self._start(Round())
        self._others += [first, rival]

        def go_on() -> None:
            # Late: either when the other has done all, or while it works with the lease.
            if event.number % 2 and not self.schedule.local:
                rival.wait(self._patience / 2)
                self._late = judge.chain(self.places.client, DATASETS, f"{self._name}/")
            else:
                while rival.status is None and self._leases() == held:
                    time.sleep(_LOOK_S)
                rival.wait(2 * event.amount)
            if self._leases() != held:
                self.result.met.append("zombie driver")
            first.send(signal.SIGCONT)

        threading.Thread(target=go_on, daemon=True).start()
        return True

    def _leases(self) -> set[str]:
        """Return the names of the leases taken so far, when the store can say it."""
        if self.schedule.local:
            return {path.name for path in Path(self._target, "_chunkmill/lease").glob("*.json")}
        prefix = f"{self._name}/_chunkmill/lease/"
        while True:
            try:
                keys = etags(self.places.client, DATASETS, prefix)
            except (BotoCoreError, ClientError):
                time.sleep(_LOOK_S)
                continue
            return {key for key in keys if key.endswith(".json")}

    def _later(self, seconds: float, action: Callable[[], object]) -> None:
        timer = threading.Timer(seconds, action)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _continue_all(self) -> None:
        for pid in self._stopped:
            send(pid, signal.SIGCONT)
        self._stopped.clear()
        for driver in (self._driver, *self._others):
            if driver is not None:
                driver.send(signal.SIGCONT)

    def _miss(self, turn: Round) -> None:
        with self._acting:
            told = self._told
            self._told = []
        left = [event for event in turn.events if not any(event is one for one in told)]
        self.result.missed += [str(event) for event in left]
        if turn.fail_point:
            found = self._passed(turn.fail_point)
            (self.result.met if found else self.result.missed).append("fail point")
        if turn.clock:
            self.result.met.append("jumped clock")

    def _passed(self, fail_point: str) -> bool:
        """Whether a fail point of this schedule's last run was passed, by what processes said."""
        line = f"fail point {fail_point.partition(':')[0]} is passed"
        told = (self._folder / "runs.log").read_text(errors="replace").rpartition("--- start ")[2]
        logs = self.places.nodes.logs(since=self._began)
        return line in told or any(line in path.read_text(errors="replace") for path in logs)

    # ------------------------------------------------------------- the verdict

    def _states(self) -> list[str]:
        first = [] if self.schedule.final_state == "first" else ["first"]
        return [*first, self.schedule.final_state]

    def _put(self, state: str) -> None:
        self.places.put(self.schedule.world, state, real=self.schedule.real)

    def _downloaded(self) -> Path:
        if self.schedule.local:
            return Path(self._target)
        client = self.places.client
        return judge.download(client, DATASETS, f"{self._name}/", self._folder / "found")

    def _verify(self) -> None:
        source = self.places.source_url(self.schedule.world, real=self.schedule.real)
        argv = ["verify", self._target, source, "--endpoint-url", self.places.store.facts.endpoint]
        log = self._folder / "verify.log"
        quick = ["--no-readers", "--no-words"]
        status = self.places.start([*argv, *quick], log, {}, 0.0, real=True).wait(self._patience)
        if status != 0:
            self._blame(f"verify ended with {status}: {log}")

    def _blame(self, fault: str) -> None:
        self.result.faults.append(fault)
