"""A separate server process whose memory tests measure: large responses, and a route that reads no body."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from classifeed_common.errors import DomainError
from classifeed_common.http.app import build_app
from classifeed_common.http.browser_guard import AllowedHosts
from classifeed_common.http.connection import ConnectionLimits
from classifeed_common.http.public import PublicRoute
from classifeed_common.http.sending import FileResponse
from classifeed_common.http.server import HttpServer, address_of, bind

FILE_BYTES = 17 << 20
WHOLE_BYTES = 1 << 20


class Serving:
    """A ready service."""

    is_ready = True
    refusal: DomainError | None = None
    blocked: Mapping[str, Mapping[str, str]] = {}

    def describe(self) -> dict[str, object]:
        return {}


async def file(request: Request) -> Response:
    holding = AsyncExitStack()
    opened = holding.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    opened.truncate(FILE_BYTES)
    return FileResponse(opened, FILE_BYTES, holding, media_type="image/jpeg", headers={})


async def whole(request: Request) -> Response:
    return Response(b"x" * WHOLE_BYTES)


async def refuse(request: Request) -> Response:
    return Response(b"no", status_code=413, headers={"Connection": "close"})


async def serve(limits: ConnectionLimits) -> None:
    routes = [PublicRoute("/file", file), PublicRoute("/whole", whole), Route("/refuse", refuse, methods=["POST"])]
    listening = bind("127.0.0.1:0")
    server = HttpServer(build_app(Serving(), {}, routes, hosts=AllowedHosts()), listening, limits=limits)
    await server.start()
    sys.stdout.write(f"{address_of(listening)}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await server.stop()


if __name__ == "__main__":
    asyncio.run(serve(ConnectionLimits(**json.loads(sys.argv[1]))))
