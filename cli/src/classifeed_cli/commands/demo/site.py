"""A shop's site on this machine that serves one price list, and knows who has its newest state already."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serve_price_list(content: bytes) -> Iterator[str]:
    """Give the link of a price list that is served on loopback; nothing listens any more after the block."""
    etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'

    class Handler(BaseHTTPRequestHandler):
        timeout = 30

        def do_GET(self) -> None:
            is_known = self.headers.get("If-None-Match") == etag
            self.send_response(HTTPStatus.NOT_MODIFIED if is_known else HTTPStatus.OK)
            self.send_header("ETag", etag)
            if not is_known:
                self.send_header("Content-Type", "application/xml")
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if not is_known:
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/price.yml"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
