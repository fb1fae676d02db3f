"""What a service loads before it has built anything: each start of each process takes as long as its imports."""

from __future__ import annotations

import subprocess
import sys

_LOADED = "import sys, classifeed_common.runner, classifeed_common.runner.parts; print(*sys.modules)"


def test_a_service_without_files_does_not_load_the_client_of_the_object_store() -> None:
    done = subprocess.run([sys.executable, "-I", "-c", _LOADED], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "classifeed_common.runner.parts" in loaded
    assert loaded & {"minio", "urllib3", "sqlalchemy", "lxml"} == set()
