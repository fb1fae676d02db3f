"""What the process that decodes loads: it starts anew after each picture that kills it."""

from __future__ import annotations

import subprocess
import sys

_LOADED = "import sys, classifeed_pictures.decoding.worker; print(*sys.modules)"


def test_the_process_that_decodes_loads_nothing_of_its_pool() -> None:
    done = subprocess.run([sys.executable, "-I", "-c", _LOADED], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "classifeed_pictures.decoding.pipeline" in loaded
    assert loaded & {"asyncio", "structlog", "grpc", "psycopg", "classifeed_pictures.decoding.pool"} == set()
