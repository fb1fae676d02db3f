"""A minimal S3 server for multipart puts, with a slow completion."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_BEGUN = "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
_DONE = (
    "<CompleteMultipartUploadResult><Location>l</Location><Bucket>b</Bucket><Key>k</Key><ETag>e</ETag>"
    "</CompleteMultipartUploadResult>"
)


class SlowStore:
    """The requests that the server has received, and the duration of a completion.

    Args:
        complete_s: duration of a completion, in seconds.
    """

    def __init__(self, complete_s: float) -> None:
        self.complete_s = complete_s
        self.parts = 0
        self.completed = False
        self.most_parts_at_once = 0
        self._now = 0
        self._lock = threading.Lock()

    @contextmanager
    def part(self) -> Iterator[None]:
        with self._lock:
            self._now += 1
            self.parts += 1
            self.most_parts_at_once = max(self.most_parts_at_once, self._now)
        yield
        with self._lock:
            self._now -= 1


@contextmanager
def serve_store(complete_s: float) -> Iterator[tuple[SlowStore, str]]:
    """Provide a store and its address."""
    store = SlowStore(complete_s)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._respond(404)

        def do_PUT(self) -> None:
            with store.part():
                self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(0.05)  # storing takes longer than sending the next part
                self._respond(200, etag="e")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if "uploadId=" in self.path:
                time.sleep(store.complete_s)
                store.completed = True
                self._respond(200, _DONE)
            else:
                self._respond(200, _BEGUN)

        def do_DELETE(self) -> None:
            self._respond(204)

        def _respond(self, status: int, body: str = "", etag: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if etag:
                self.send_header("ETag", etag)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield store, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
