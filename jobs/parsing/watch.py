"""Watches one document being read in a child: the clock, the memory, and how the child ends."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chunking.errors import ErrorKind
from jobs.config import LimitsConfig
from jobs.parsing import wire
from jobs.parsing.limits import MIB, disk_bytes, rss_bytes, usage
from jobs.parsing.orphans import descendants
from jobs.parsing.outcomes import UNKNOWN_FORMAT, failed
from jobs.parsing.processes import ChildProcess, ServerLostError
from jobs.ports import ParseOutcome

__all__ = ["Verdict", "watch"]

_TICK_S = 0.05
"""How often memory is looked at while a document is being read."""
_SLOW_TICK_S = 0.25
"""How often its temporary files and programs are: they take longer to count."""
_MAX_PROCESSES = 16
_MAX_THREADS = 64
_READ_BYTES = 1 << 20
_FORMAT_NAME = re.compile(rb"[a-z0-9_]{1,32}")
_PAGE_NUMBER = re.compile(rb"[0-9]{1,9}")
_ENDED_BY_ITSELF = frozenset(
    {signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGTRAP, signal.SIGILL}
)
"""How native code ends: by a fault, or on purpose where it is refused memory."""
_FULL_SHARE = 0.5
"""Of a document's memory, held by a child shortly before it ended so: it was refused more."""
_SUSPECT_KINDS = frozenset({"internal", "out_of_memory", "limit"})
"""After these a child's state is not trusted: the next document gets a fresh one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of a document.

    ``retire``: the child is dead or no longer trusted. ``lost``: it did not live to tell.
    ``page``: the page that it was reading then, if it said, for ``page_seconds``.
    """

    outcome: ParseOutcome
    retire: bool
    lost: bool = False
    page: int | None = None
    page_seconds: float = 0.0


def watch(
    child: ChildProcess,
    request: Mapping[str, object],
    limits: LimitsConfig,
    *,
    programs: bool = False,
) -> Verdict:
    """Send a request to a child and see it through to an outcome within its limits.

    ``programs``: it may start some, whose memory counts as its own.

    Raises:
        ServerLostError: the zygote was ended from outside, and the child with it.
    """
    return _Watch(child, Path(str(request["folder"])), limits, programs=programs).run(request)


class _Watch:
    def __init__(
        self, child: ChildProcess, folder: Path, limits: LimitsConfig, *, programs: bool
    ) -> None:
        self._child = child
        self._folder = folder
        self._programs = programs
        self._limits = limits
        self._format = UNKNOWN_FORMAT
        self._page: int | None = None
        self._page_began = time.monotonic()
        self._deadline = time.monotonic() + limits.document_seconds
        own = rss_bytes(child.pid)
        self._max_rss = own + limits.document_memory_mb * MIB
        self._full_rss = own + limits.document_memory_mb * MIB * _FULL_SHARE
        self._most_rss = own
        self._reader = wire.FrameReader(wire.max_result(limits.document_chars))
        self._slow_due = time.monotonic() + _SLOW_TICK_S

    def run(self, request: Mapping[str, object]) -> Verdict:
        try:
            body = json.dumps(request).encode("ascii")
            self._child.connection.sendall(wire.pack_frame(wire.REQUEST, body))
            while True:
                verdict = self._step()
                if verdict is not None:
                    return verdict
        except wire.WireError as error:
            self._child.kill()
            return self._lost("crashed", f"the child sent {error}")
        except OSError:
            return self._died()

    def _step(self) -> Verdict | None:
        if wire.readable(self._child.connection, _TICK_S):
            data = self._child.connection.recv(_READ_BYTES)
            if not data:
                return self._died()
            self._reader.feed(data)
            verdict = self._read()
            if verdict is not None:
                return verdict
        return self._over_limit()

    def _read(self) -> Verdict | None:
        while (frame := self._reader.next()) is not None:
            if frame.kind == wire.RESULT:
                outcome = wire.load_outcome(frame.body)
                suspect = outcome.error_kind in _SUSPECT_KINDS
                return Verdict(outcome=outcome, retire=suspect, page=self._page)
            if frame.kind == wire.FORMAT and _FORMAT_NAME.fullmatch(frame.body):
                self._format = frame.body.decode("ascii")
            elif frame.kind == wire.PAGE and _PAGE_NUMBER.fullmatch(frame.body):
                self._page = int(frame.body) or None
                self._page_began = time.monotonic()
            else:
                msg = f"an unknown frame {frame.kind!r}"
                raise wire.WireError(msg)
        return None

    def _over_limit(self) -> Verdict | None:
        now = time.monotonic()
        if now > self._deadline:
            self._child.kill()
            seconds = self._limits.document_seconds
            message = f"not read within limits.document_seconds = {seconds:g}"
            return self._lost("timeout", message, retryable=True)
        held = usage(self._child.pid)
        self._most_rss = max(self._most_rss, held.rss)
        if held.rss > self._max_rss:
            self._child.kill()
            megabytes = self._limits.document_memory_mb
            message = f"needs more memory than limits.document_memory_mb = {megabytes}"
            return self._lost("out_of_memory", message)
        if held.threads > _MAX_THREADS:
            self._child.kill()
            return self._lost("limit", f"its reader started more than {_MAX_THREADS} threads")
        if now < self._slow_due:
            return None
        self._slow_due = now + _SLOW_TICK_S
        return (self._over_programs(held.rss) if self._programs else None) or self._over_disk()

    def _over_programs(self, own: int) -> Verdict | None:
        started = list(descendants(self._child.pid))
        if len(started) > _MAX_PROCESSES:
            self._child.kill()
            return self._lost("limit", f"it has started more than {_MAX_PROCESSES} processes")
        if own + sum(map(rss_bytes, started)) > self._max_rss:
            self._child.kill()
            megabytes = self._limits.document_memory_mb
            message = f"needs more memory than limits.document_memory_mb = {megabytes}"
            return self._lost("out_of_memory", message)
        return None

    def _over_disk(self) -> Verdict | None:
        megabytes = self._limits.document_disk_mb
        if disk_bytes(self._folder, self._child.pid) <= megabytes * MIB:
            return None
        self._child.kill()
        message = f"needs more temporary files than limits.document_disk_mb = {megabytes}"
        return self._lost("limit", message)

    def _died(self) -> Verdict:
        status = self._child.kill()
        if status is None:
            raise ServerLostError
        if status == -signal.SIGXCPU:
            seconds = self._limits.document_seconds
            message = f"needs more CPU time than limits.document_seconds = {seconds:g} allow"
            return self._lost("limit", message)
        if status == -signal.SIGKILL:
            message = "the reader was killed from outside, perhaps for want of memory"
            return self._lost("crashed", message, retryable=True)
        if -status in _ENDED_BY_ITSELF and self._most_rss >= self._full_rss:
            megabytes = self._limits.document_memory_mb
            message = f"its reader ended near limits.document_memory_mb = {megabytes}"
            return self._lost("out_of_memory", message)
        if status < 0:
            return self._lost("crashed", f"the reader crashed: {signal.strsignal(-status)}")
        return self._lost("crashed", f"the reader ended itself with status {status}")

    def _lost(self, kind: ErrorKind, message: str, *, retryable: bool = False) -> Verdict:
        outcome = failed(kind, message, self._format, retryable=retryable)
        return Verdict(
            outcome=outcome,
            retire=True,
            lost=True,
            page=self._page,
            page_seconds=time.monotonic() - self._page_began,
        )
