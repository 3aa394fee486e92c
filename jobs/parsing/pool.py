"""A parser that no document can take down: each is read in a child that may be killed.

The pool owns one zygote (see :mod:`jobs.parsing.zygote`) and one warm child, replaced
after some documents, when it has grown, or when a document has ended it. It is thin on
purpose: a process, a socket and a clock, so that nothing depends on how the surrounding
program (a Ray worker) treats its own processes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from jobs.config import LimitsConfig, ParserConfig
from jobs.parsing.family import Wanted, read_family
from jobs.parsing.limits import MIB
from jobs.parsing.outcomes import UNKNOWN_FORMAT, failed
from jobs.parsing.processes import ChildProcess, ServerLostError, Zygote
from jobs.parsing.watch import Verdict, watch
from jobs.parsing.wire import NEUTRAL_NAME
from jobs.ports import ParseOutcome
from jobs.scratch import scratch_folder, sweep

__all__ = ["ChildParser"]

_CONVERT = "jobs.parsing.convert:convert"
_PRELOAD = "jobs.parsing.preload:preload"
_MAX_DOCUMENTS = 100
_MAX_GROWTH_BYTES = 512 * MIB
_WEIGHTS_BYTES = 2048 * MIB
"""What docling's networks may take once a child has loaded them."""
_MAX_BAD_PAGES = 5
_OF_TIME = frozenset({"timeout", "limit"})
_HANGING_SHARE = 0.5
"""Of a document's time, which one page must take to be the one that hangs."""
_LEFT_OUT = "pages that ended the reader were left out"


class ChildParser:
    """Parses one document at a time in a killable child; implements :class:`jobs.ports.Parser`.

    ``convert`` names the function that reads a file, as ``module:function``; see
    :func:`jobs.parsing.convert.convert`; ``preload`` a function called once, before
    children are forked. A child is replaced after ``max_documents``. Documents are laid out
    below ``tmp_dir``, the system's place for temporary files if None.
    Nothing is started before the first document or ``start``.
    """

    def __init__(
        self,
        config: ParserConfig,
        limits: LimitsConfig,
        *,
        convert: str = _CONVERT,
        preload: str | None = _PRELOAD,
        max_documents: int = _MAX_DOCUMENTS,
        tmp_dir: str | None = None,
    ) -> None:
        self._tmp_dir = tmp_dir
        self._limits = limits
        self._programs = config.libreoffice
        self._max_documents = max_documents
        weights = config.artifacts_path is not None and config.pdf != "fast"
        self._max_growth = _MAX_GROWTH_BYTES + (_WEIGHTS_BYTES if weights else 0)
        self._zygote = Zygote(config, limits, convert=convert, preload=preload)
        self._child: ChildProcess | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin to import docling, so that the first document need not wait for it.

        What parsers that were killed have left in the temporary folder is removed.
        """
        sweep(self._tmp_dir)
        with self._lock:
            self._zygote.start()

    def parse(self, path: Path, *, name: str) -> ParseOutcome:
        """Parse ``path`` and what is inside it; the outcome says what came of them.

        Raises:
            JobError: no child can be started at all.
        """
        return read_family(self._alone, path, name, self._limits, tmp_dir=self._tmp_dir)

    def _alone(self, path: Path, name: str, wanted: Wanted) -> ParseOutcome:
        """Parse one file; its members are unpacked, and not read."""
        started = time.monotonic()
        request = {"name": name, "members": wanted.to_json()}
        with self._lock:
            outcome = self._refusal(path)
            if outcome is None:
                try:
                    outcome = self._parsed(path, request)
                except ServerLostError:
                    # The zygote was killed from outside, and its child with it: once more.
                    self._drop_child()
                    wanted.clear()
                    outcome = self._last_attempt(path, request)
        return replace(outcome, seconds=time.monotonic() - started)

    def close(self) -> None:
        """End the child and the zygote; a later ``parse`` starts new ones."""
        with self._lock:
            self._drop_child()
            self._zygote.close()

    def _refusal(self, path: Path) -> ParseOutcome | None:
        size = path.stat().st_size
        if size == 0:
            return failed("empty", "the file has no bytes", UNKNOWN_FORMAT)
        if size > self._limits.document_bytes:
            message = f"{size} bytes, more than limits.document_bytes"
            return failed("too_large", message, UNKNOWN_FORMAT)
        return None

    def _last_attempt(self, path: Path, request: Mapping[str, object]) -> ParseOutcome:
        try:
            return self._parsed(path, request)
        except ServerLostError:
            self._drop_child()
            message = "the parsing processes were killed from outside, twice"
            return failed("crashed", message, UNKNOWN_FORMAT, retryable=True)

    def _parsed(self, path: Path, request: Mapping[str, object]) -> ParseOutcome:
        verdict = self._in_child(path, request)
        outcome = verdict.outcome
        if outcome.format != "pdf" or not (verdict.lost or outcome.error_kind == "out_of_memory"):
            return outcome
        return self._without_bad_pages(path, request, outcome)

    def _without_bad_pages(
        self, path: Path, request: Mapping[str, object], first: ParseOutcome
    ) -> ParseOutcome:
        """Read a PDF that has ended its reader page by page, leaving out the pages that do.

        Its first failure stands where no page is to blame, nothing is left, or too many end
        their reader.
        """
        skip: list[int] = []
        while len(skip) <= _MAX_BAD_PAGES:
            verdict = self._in_child(path, {**request, "skip": skip})
            outcome = verdict.outcome
            if outcome.document is not None:
                kind = first.error_kind if outcome.status == "partial" else None
                return replace(outcome, error_kind=kind, error_message=_LEFT_OUT if kind else None)
            slow = verdict.page_seconds >= self._limits.document_seconds * _HANGING_SHARE
            if verdict.page is None or (outcome.error_kind in _OF_TIME and not slow):
                break
            skip.append(verdict.page)
        return first

    def _in_child(self, path: Path, request: Mapping[str, object]) -> Verdict:
        child = self._ready_child()
        retire = True  # also when an interrupt leaves the child in mid-document
        try:
            with scratch_folder(self._tmp_dir) as folder:
                _place(path, folder / NEUTRAL_NAME)
                verdict = self._watched(child, {**request, "folder": str(folder)})
            retire = verdict.retire
        finally:
            if retire:
                self._drop_child()
        return verdict

    def _watched(self, child: ChildProcess, request: Mapping[str, object]) -> Verdict:
        return watch(child, request, self._limits, programs=self._programs)

    def _ready_child(self) -> ChildProcess:
        child = self._child
        if child is not None and (
            child.documents >= self._max_documents
            or child.growth() > self._max_growth
            or child.ended()
        ):
            self._drop_child()
        if self._child is None:
            self._child = self._zygote.fork()
        self._child.documents += 1
        return self._child

    def _drop_child(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None


def _place(path: Path, target: Path) -> None:
    """Let the file be found under a neutral name, without copying it."""
    try:
        os.link(path, target)
    except OSError:
        target.symlink_to(path.absolute())
