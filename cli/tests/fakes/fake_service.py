"""A fake service for the supervisor, with health, backlog and drain, and with configurable faults."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def main(name: str) -> None:
    prefix = f"CLASSIFEED_{name.upper()}_"
    setting = {key.removeprefix(prefix): value for key, value in os.environ.items() if key.startswith(prefix)}
    if "REFUSE" in setting:
        sys.exit("") if setting["REFUSE"] == "quietly" else None
        print(f"{prefix}REFUSE={setting['REFUSE']!r} is refused: it is nonsense", file=sys.stderr)
        sys.exit(2)
    if "DIE" in setting:
        sys.exit(f"{name} cannot live like this")
    folder = Path(setting["DATA_DIR"])
    (folder / "environment.json").write_text(json.dumps(dict(os.environ)))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/backlog":
                file = folder / "backlog.json"
                items = json.loads(file.read_text()) if file.exists() else {"outbox": 0}
                self._respond(200, {"items": items, "total": sum(items.values())})
            else:
                self._respond(503 if "SICK" in setting else 200, {})

        def _respond(self, code: int, content: object) -> None:
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *args: object) -> None:
            pass

    host, _, port = setting["HTTP_LISTEN"].rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"{name} serves", flush=True)
    number = signal.sigwait([signal.SIGTERM])
    (folder / "drained").write_text(str(int(number)))


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
