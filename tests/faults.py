"""A proxy before an S3 server that breaks chosen requests, as networks and stores do."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

ERRORS = {
    "conflict": (409, "ConditionalRequestConflict"),
    "copy_error": (200, "InternalError"),
    "expired": (400, "ExpiredToken"),
    "forgotten": (400, "InvalidArgument"),
    "gateway": (502, ""),
    "internal": (500, "InternalError"),
    "missing": (404, "NoSuchKey"),
    "no_condition": (501, "NotImplemented"),
    "skewed": (403, "RequestTimeTooSkewed"),
    "slow_down": (503, "SlowDown"),
    "too_large": (400, "InvalidRequest"),
    "too_many": (429, ""),
    "unavailable": (503, "ServiceUnavailable"),
}
"""Faults that are answers of the store itself, without effect: HTTP status and S3 code."""

BEFORE = frozenset({"hang", "refuse", "reset"})
"""Faults of the connection before the request takes effect."""

DRIBBLE_SECONDS = 0.05


@dataclass
class FaultyProxy:
    """A list of faults for the requests to come, the first for the next that matches.

    One of ``answers`` (status and body) or of :data:`ERRORS` is answered, without effect.
    ``hang``: no effect, no answer, until the proxy ends. ``refuse``: no effect, the connection
    closes without a word; ``reset``: and by a reset. ``lose_answer``: the request takes effect,
    the connection closes without a word. ``cut``: the answer's body stops half-way;
    ``cut_unsized``: and nothing says how long it was to be. ``unsized``: the whole body comes,
    but nothing says how long it is. ``dribble``: a byte now and then. ``damage``: one bit of the
    body is wrong. ``unconditional``: the request takes effect whatever its condition says.

    ``method`` (None for all) and ``part`` (a piece of the path and query): which requests match.
    ``always``: a fault for all of them once the list is empty. ``meanwhile``: called before a
    fault. An empty fault lets its request pass.
    """

    endpoint: str
    method: str | None = "PUT"
    part: str = ""
    always: str | None = None
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    meanwhile: Callable[[], object] = lambda: None
    ended: threading.Event = field(default_factory=threading.Event)

    def next_fault(self, method: str, path: str) -> str | None:
        """Take the fault of a request."""
        self.requests.append(method)
        if self.method not in (None, method) or self.part not in path:
            return None
        fault = self.faults.pop(0) if self.faults else self.always
        fault = fault or None
        if fault is not None:
            self.meanwhile()
        return fault


@contextmanager
def faulty_proxy(target: str) -> Iterator[FaultyProxy]:
    """Run a proxy before the server at ``target``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    state = FaultyProxy(endpoint=f"http://127.0.0.1:{server.server_address[1]}")
    server.state, server.target = state, urlsplit(target).netloc  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield state
    finally:
        state.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def handle_one_request(self) -> None:
        """Serve one request of any method; a client that has left is no error."""
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *_arguments: object) -> None:
        """Keep quiet."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.state.next_fault(self.command, self.path)
        if fault in self.server.state.answers:
            status, text = self.server.state.answers[fault]
            self._answer(status, {}, text, None)
        elif fault in ERRORS:
            self._refuse(*ERRORS[fault])
        elif fault in BEFORE:
            self._break(fault)
        else:
            self._forward(body, fault)

    def _refuse(self, status: int, code: str) -> None:
        text = f"<Error><Code>{code}</Code><Message>On purpose.</Message></Error>" if code else ""
        self._answer(status, {"Content-Type": "application/xml"}, text.encode(), None)

    def _break(self, fault: str) -> None:
        self.close_connection = True
        if fault == "hang":
            self.server.state.ended.wait(60)
        if fault == "reset":
            now = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
            self.connection.close()

    def _forward(self, body: bytes, fault: str | None) -> None:
        connection = http.client.HTTPConnection(self.server.target, timeout=60)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        dropped = {"connection", "expect"} | (
            {"if-none-match"} if fault == "unconditional" else set()
        )
        for name, value in self.headers.items():
            if name.lower() not in dropped:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.close_connection = fault is not None
        if fault == "damage" and data:
            data = bytes([data[0] ^ 1]) + data[1:]
        if fault != "lose_answer":
            self._answer(answer.status, dict(answer.getheaders()), data, fault)

    def _answer(self, status: int, headers: dict[str, str], body: bytes, fault: str | None) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        length = headers.get("Content-Length") if self.command == "HEAD" else None
        if fault in ("unsized", "cut_unsized"):
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", length or str(len(body)))
        self.end_headers()
        if fault == "dribble":
            self._dribble(body)
        elif self.command != "HEAD":
            half = len(body) // 2
            self.wfile.write(body[:half] if fault in ("cut", "cut_unsized") else body)

    def _dribble(self, body: bytes) -> None:
        with suppress(ConnectionError):
            for value in body:
                self.wfile.write(bytes([value]))
                if self.server.state.ended.wait(DRIBBLE_SECONDS):
                    return

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - http.server's names
