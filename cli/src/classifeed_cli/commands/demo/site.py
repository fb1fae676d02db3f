"""A local HTTP server for a shop's files, with support for conditional requests (ETag)."""

from __future__ import annotations

import hashlib
import mimetypes
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serve_price_list(content: bytes) -> Iterator[str]:
    """Serve a price list on the loopback during the block, and provide its URL."""
    with serve_files({"/price.yml": content}) as base:
        yield f"{base}/price.yml"


@contextmanager
def serve_files(files: Mapping[str, bytes]) -> Iterator[str]:
    """Serve files by path on the loopback during the block, and provide the base URL. Other paths respond with 404."""
    etags = {path: f'"{hashlib.sha256(content).hexdigest()[:16]}"' for path, content in files.items()}

    class Handler(BaseHTTPRequestHandler):
        timeout = 30

        def do_GET(self) -> None:
            content, etag = files.get(self.path), etags.get(self.path, "")
            if content is None:
                self._respond(HTTPStatus.NOT_FOUND, {"Content-Type": "text/plain"}, b"There is no such file.")
            elif self.headers.get("If-None-Match") == etag:
                self._respond(HTTPStatus.NOT_MODIFIED, {"ETag": etag}, None)
            else:
                kind = mimetypes.guess_type(self.path)[0] or "application/xml"
                self._respond(HTTPStatus.OK, {"ETag": etag, "Content-Type": kind}, content)

        def _respond(self, status: HTTPStatus, headers: Mapping[str, str], content: bytes | None) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if content is not None:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if content is not None:
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
