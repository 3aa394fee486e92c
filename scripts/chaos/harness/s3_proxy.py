"""A proxy before the S3 server that knows what each request means, and can spoil it.

The n-th commit of a unit, the third plain copy, the first read of a source: moments of
the protocol are requests, so an event is tied to a request, and what it does happens
while this request waits. An event before the request may keep it from its effect, one
after it may keep the answer from its sender.
"""

from __future__ import annotations

import http.client
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

__all__ = ["KINDS", "Request", "S3Proxy", "Trigger"]

_ERRORS = {
    "slow_down": (503, "SlowDown"),
    "unavailable": (503, "ServiceUnavailable"),
    "internal": (500, "InternalError"),
    "conflict": (409, "ConditionalRequestConflict"),
}
_KEYS: tuple[tuple[str, str], ...] = (
    ("lease", r"_chunkmill/lease/\d{8}\.json"),
    ("beat", r"_chunkmill/lease/\d{8}\.heartbeat"),
    ("plan", r"_chunkmill/runs/[^/]+/plan\.parquet"),
    ("marker", r"_chunkmill/runs/[^/]+/units/\d{6}\.json"),
    ("unit", r"_chunkmill/(runs/[^/]+/units|sentences/[^/]+)/.+\.parquet"),
    ("version", r"_chunkmill/buckets/\d{5}/\d{8}\.json"),
    ("data", r"_chunkmill/buckets/\d{5}/\d{8}-.+\.parquet"),
    ("copy", r"(changes|boundaries|chunks|documents)/.+\.parquet"),
    ("end", r"_chunkmill/(runs/[^/]+/report|view)\.json"),
    ("dataset", r"_chunkmill/(dataset\.json|tokenizers/.+)"),
)
KINDS = (*tuple(name for name, _ in _KEYS), "fetch", "list", "read", "delete")
"""What a request means: writes of the dataset by what they write, fetches and listings."""

_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _KEYS)
_HOP = frozenset({"connection", "transfer-encoding", "content-length", "expect"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as an event sees it; ``port`` is its sender's."""

    kind: str
    number: int
    method: str
    key: str
    port: int


Fault = str | None
"""What becomes of a request: None (nothing), ``drop``, ``cut``, or an error of the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Something to do at the ``number``-th request of a kind, before or after its effect."""

    kind: str
    number: int
    before: bool
    action: Callable[[Request], Fault]


@dataclass(slots=True, kw_only=True)
class _Weather:
    """Faults that hold for some time or some requests, whatever these mean."""

    errors: int = 0
    error: str = "slow_down"
    silent_until: float = 0.0
    slow_until: float = 0.0
    delay: float = 0.0
    seen: Counter[str] = field(default_factory=Counter)


class S3Proxy:
    """The proxy; ``source`` and ``dataset`` are paths ``/bucket/prefix/`` to tell requests by."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.source = self.dataset = "/"
        self.counts: Counter[str] = Counter()
        self._triggers: list[Trigger] = []
        self._weather = _Weather()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self  # type: ignore[attr-defined] - read by the handler
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._server.shutdown()
        self._server.server_close()

    def arm(self, triggers: list[Trigger]) -> None:
        """Count from zero and wait for these; what was armed before is forgotten."""
        with self._lock:
            self.counts.clear()
            self._triggers = list(triggers)
            self._weather = _Weather()

    def pending(self) -> int:
        """Return how many triggers have not been met."""
        with self._lock:
            return len(self._triggers)

    def spoil(self, count: int, error: str) -> None:
        """Answer the next requests with an error of the store."""
        self._weather.errors, self._weather.error = count, error

    def fall_silent(self, seconds: float) -> None:
        """Take requests and answer none until the time is over, then close them."""
        self._weather.silent_until = time.monotonic() + seconds

    def be_slow(self, seconds: float, delay: float) -> None:
        """Hold every request back for ``delay`` seconds until the time is over."""
        self._weather.slow_until = time.monotonic() + seconds
        self._weather.delay = delay

    def seen_faults(self) -> Counter[str]:
        """Return how often each kind of weather was met."""
        return self._weather.seen

    def met(self, request: Request, *, before: bool) -> Fault:
        """Do what is due at a request and return what becomes of it."""
        due = self._take(request, before=before)
        faults = [trigger.action(request) for trigger in due]
        return next((fault for fault in faults if fault), None)

    def told(self, method: str, path: str, port: int) -> Request:
        """Return what a request means, and count it."""
        kind, key = self._kind(method, unquote(path.partition("?")[0]))
        with self._lock:
            self.counts[kind] += 1
            number = self.counts[kind]
        return Request(kind=kind, number=number, method=method, key=key, port=port)

    def under_weather(self) -> Fault:
        """Wait or fail as the weather of the moment wants it."""
        weather = self._weather
        now = time.monotonic()
        if now < weather.silent_until:
            weather.seen["silence"] += 1
            time.sleep(weather.silent_until - now)
            return "drop"
        if now < weather.slow_until:
            weather.seen["slow"] += 1
            time.sleep(weather.delay)
        with self._lock:
            if weather.errors > 0:
                weather.errors -= 1
                weather.seen[weather.error] += 1
                return weather.error
        return None

    def _take(self, request: Request, *, before: bool) -> list[Trigger]:
        def is_due(trigger: Trigger) -> bool:
            place = (trigger.kind, trigger.before) == (request.kind, before)
            return place and request.number >= trigger.number

        with self._lock:
            due = [trigger for trigger in self._triggers if is_due(trigger)][:1]
            self._triggers = [trigger for trigger in self._triggers if trigger not in due]
        return due

    def _kind(self, method: str, path: str) -> tuple[str, str]:
        if path.startswith(self.source):
            return ("fetch" if method == "GET" else "read"), path[len(self.source) :]
        if not path.startswith(self.dataset):
            return "list", path
        key = path[len(self.dataset) :]
        if method == "DELETE":
            return "delete", key
        if method != "PUT":
            return "read", key
        found = (name for name, pattern in _PATTERNS if pattern.fullmatch(key))
        return next(found, "other"), key


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def handle_one_request(self) -> None:
        """Serve one request; a client that has gone is no error."""
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        proxy: S3Proxy = self.server.proxy
        request = proxy.told(self.command, self.path, self.client_address[1])
        fault = proxy.met(request, before=True) or proxy.under_weather()
        if fault == "drop":
            self.close_connection = True
        elif fault in _ERRORS:
            status, code = _ERRORS[fault]
            text = f"<Error><Code>{code}</Code><Message>spoilt</Message></Error>"
            self._answer(status, {}, text.encode())
        else:
            self._forward(proxy, request, body)

    def _forward(self, proxy: S3Proxy, request: Request, body: bytes) -> None:
        try:
            status, headers, data = self._asked(proxy.target_port, body)
        except (OSError, http.client.HTTPException):  # the store is down, or has just gone
            self.close_connection = True
            return
        fault = proxy.met(request, before=False)
        if fault == "drop":
            self.close_connection = True
        else:
            self.close_connection |= fault == "cut"
            self._answer(status, headers, data[: len(data) // 2] if fault == "cut" else data, data)

    def _asked(self, port: int, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.putrequest(
                self.command, self.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in self.headers.items():
                if name.lower() not in ("connection", "expect"):
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def _answer(
        self, status: int, headers: dict[str, str], sent: bytes, whole: bytes | None = None
    ) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in _HOP:
                self.send_header(name, value)
        length = headers.get("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(sent if whole is None else whole)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(sent)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - http.server's names
