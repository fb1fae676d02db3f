"""A seller's site on the loopback, with files that change and with faults."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_PIECE = b"<!-- nothing but words -->" * 400


class Site:
    """Paths and their responses. Changes take effect at the next request.

    Attributes:
        url: address of the site, without a slash at the end.
        requests: number of requests by path.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.url = f"http://{host}:{port}"
        self.requests: Counter[str] = Counter()
        self.stopping = threading.Event()
        self._files: dict[str, tuple[bytes, bool]] = {}
        self._faults: dict[str, tuple[Any, ...]] = {}

    def put(self, path: str, content: bytes, *, etag: bool = True) -> str:
        """Serve a file and return its link; without `etag` conditional requests are not possible."""
        self._files[path] = (content, etag)
        self._faults.pop(path, None)
        return self.url + path

    def fail(self, path: str, *fault: Any) -> str:
        """Set the fault of a path and return its link.

        Faults are ("status", 500, headers), ("endless",), ("silent",), ("loop",), ("cut",) and ("drip", rate).
        """
        self._faults[path] = fault
        return self.url + path

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        """Respond to one request."""
        path = handler.path
        self.requests[path] += 1
        match self._faults.get(path):
            case ("status", int(status), dict(headers)):
                handler.send_response(status)
                for name, value in headers.items():
                    handler.send_header(name, value)
                handler.send_header("Content-Length", "0")
                handler.end_headers()
            case ("loop",):
                handler.send_response(302)
                handler.send_header("Location", path)
                handler.send_header("Content-Length", "0")
                handler.end_headers()
            case ("silent",):
                self.stopping.wait(600)
            case ("endless",):
                handler.send_response(200)
                handler.end_headers()
                while not self.stopping.is_set():
                    handler.wfile.write(_PIECE)
            case ("drip", int(rate)):
                handler.send_response(200)
                handler.end_headers()
                while not self.stopping.wait(0.25):
                    handler.wfile.write(b" " * (rate // 4))
                    handler.wfile.flush()
            case ("cut",):
                content, _ = self._files[path]
                handler.send_response(200)
                handler.send_header("Content-Length", str(len(content)))
                handler.end_headers()
                handler.wfile.write(content[: len(content) // 2])
            case _:
                self._serve(handler, path)

    def _serve(self, handler: BaseHTTPRequestHandler, path: str) -> None:
        if path not in self._files:
            handler.send_response(404)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        content, has_etag = self._files[path]
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        if has_etag and handler.headers.get("If-None-Match") == etag:
            handler.send_response(304)
            handler.send_header("ETag", etag)
            handler.end_headers()
            return
        handler.send_response(200)
        if has_etag:
            handler.send_header("ETag", etag)
        handler.send_header("Content-Type", "application/xml")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)


@contextmanager
def serve_site(host: str = "127.0.0.1") -> Iterator[Site]:
    """Yield a running site on a free port of a loopback address; its threads end with the block."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 600

        def do_GET(self) -> None:
            try:
                site.respond(self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((host, 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    site = Site(server.server_address[1], host)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


@contextmanager
def serve_hosts(count: int) -> Iterator[list[Site]]:
    """Yield `count` sites, each at a different loopback address."""
    with ExitStack() as stack:
        yield [stack.enter_context(serve_site(f"127.0.1.{number}")) for number in range(1, count + 1)]
