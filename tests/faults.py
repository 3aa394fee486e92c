"""A proxy before an S3 server that breaks chosen requests, as networks and stores do."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"


@dataclass
class FaultyProxy:
    """A list of faults for the requests to come, the first for the next that matches.

    ``lose_answer``: the request takes effect, the connection closes without a word.
    ``slow_down``: 503, no effect. ``cut``: the answer's body stops half-way. ``conflict``:
    409 ``ConditionalRequestConflict``, no effect. Any other is the name of one of
    ``answers``: status and body, no effect.
    """

    endpoint: str
    method: str = "PUT"
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    def next_fault(self, method: str) -> str | None:
        """Take the fault of a request."""
        self.requests.append(method)
        return self.faults.pop(0) if self.faults and method == self.method else None


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
        fault = self.server.state.next_fault(self.command)
        if fault == "slow_down":
            self._answer(503, {}, SLOW_DOWN)
        elif fault == "conflict":
            code = SLOW_DOWN.replace(b"SlowDown", b"ConditionalRequestConflict")
            self._answer(409, {}, code)
        elif fault in self.server.state.answers:
            status, text = self.server.state.answers[fault]
            self._answer(status, {}, text)
        else:
            self._forward(body, fault)

    def _forward(self, body: bytes, fault: str | None) -> None:
        connection = http.client.HTTPConnection(self.server.target, timeout=60)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in ("connection", "expect"):
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.close_connection = fault is not None
        if fault != "lose_answer":
            self._answer(answer.status, dict(answer.getheaders()), data, cut=fault == "cut")

    def _answer(
        self, status: int, headers: dict[str, str], body: bytes, *, cut: bool = False
    ) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        length = headers.get("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - http.server's names
