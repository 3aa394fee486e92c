"""A proxy that lets every request wait: ``python scripts/chaos/slow_proxy.py TARGET SECONDS``.

``TARGET`` is ``host:port``. Prints its own port and serves until standard input is closed. It
knows no HTTP: what a client sends after it was answered is taken for the next request.
"""

from __future__ import annotations

import asyncio
import sys

_BYTES = 1 << 16


class SlowProxy:
    """Passes bytes on in both directions; the first ones of each request wait."""

    def __init__(self, target: str, seconds: float) -> None:
        host, _, port = target.rpartition(":")
        self._host, self._port = host, int(port)
        self._seconds = seconds

    async def serve(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        answers, requests = await asyncio.open_connection(self._host, self._port)
        answered = asyncio.Event()
        answered.set()
        try:
            await asyncio.gather(
                self._forward(client, requests, answered), self._return(answers, back, answered)
            )
        except ConnectionError:
            pass
        finally:
            back.close()
            requests.close()

    async def _forward(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        answered: asyncio.Event,
    ) -> None:
        while data := await source.read(_BYTES):
            if answered.is_set():
                answered.clear()
                await asyncio.sleep(self._seconds)
            target.write(data)
            await target.drain()
        target.write_eof()

    async def _return(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        answered: asyncio.Event,
    ) -> None:
        while data := await source.read(_BYTES):
            answered.set()
            target.write(data)
            await target.drain()
        target.close()


async def main(target: str, seconds: float) -> None:
    """Serve until standard input is closed."""
    server = await asyncio.start_server(SlowProxy(target, seconds).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
