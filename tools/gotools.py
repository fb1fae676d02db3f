"""Programs written in Go that tests use, built once from the module proxy into .venv/gobin.

Only developers and the checks need them; the two commands of the README do without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_MODULES = {
    "helm": "helm.sh/helm/v3/cmd/helm@v3.19.0",
    "grpcurl": "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4",
}
_BIN = Path(__file__).resolve().parent.parent / ".venv" / "gobin"


def find_tool(name: str) -> Path | None:
    """Return the program, built if need be; None on a machine without Go that has it nowhere.

    Raises:
        subprocess.CalledProcessError: Go is there and the build failed.
    """
    built = _BIN / name
    if built.exists():
        return built
    go = shutil.which("go")
    if go is None:
        found = shutil.which(name)
        return Path(found) if found else None
    environment = {**os.environ, "GOBIN": str(_BIN), "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}
    subprocess.run([go, "install", _MODULES[name]], check=True, env=environment, capture_output=True, timeout=900)
    return built


if __name__ == "__main__":
    for tool in sys.argv[1:] or _MODULES:
        print(tool, find_tool(tool))
