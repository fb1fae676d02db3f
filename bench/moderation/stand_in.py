"""A verdict service with a fixed latency in milliseconds: `python -m bench.moderation.stand_in 200`.

It prints its port. Lines on stdin set its state: `verdicts` (approve immediately), `people` (send to a review), `away`
(nothing listens). It confirms each by a line on stdout.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any, Final

_END: Final = {
    "name": "clean_web_moderation_end",
    "subsource": "tmu",
    "value": True,
    "entity": "text",
    "source": "bench",
}


class StandIn:
    """Responds to a request or a batch after `delay_s`."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._port = 0
        self._has_people = False

    async def run(self) -> None:
        """Serve until stdin ends."""
        loop = asyncio.get_running_loop()
        await self._listen()
        print(self._port, flush=True)
        while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
            self._has_people = line == "people"
            if line == "away":
                await self._leave()
            elif self._server is None:
                await self._listen()
            print(line, flush=True)
        await self._leave()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, backlog=1024)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _leave(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                begin = head.index(b"content-length:") + 15
                body = json.loads(await reader.readexactly(int(head[begin : head.index(b"\r\n", begin)])))
                await asyncio.sleep(self._delay_s)
                found = [self._respond(item) for item in body] if isinstance(body, list) else self._respond(body)
                content = json.dumps(found).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content)
                await writer.drain()
        self._writers.discard(writer)
        writer.close()

    def _respond(self, item: dict[str, Any]) -> dict[str, Any]:
        verdicts = [] if self._has_people else [{**_END, "key": item["params"]["key"]}]
        return {"jsonrpc": "2.0", "id": item["id"], "result": {"verdicts": verdicts}}


if __name__ == "__main__":
    asyncio.run(StandIn(float(sys.argv[1]) / 1000).run())
