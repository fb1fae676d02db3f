"""Go programs that tests use, built once from the module proxy into .venv/gobin.

Only development and CI need them; the two commands of the README do not.
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
_VENV = Path(__file__).resolve().parent.parent / ".venv"
_BIN = _VENV / "gobin"


def go_environment() -> dict[str, str]:
    """Return the environment for Go builds. Without a writable home, Go keeps its files in .venv."""
    environment = {**os.environ, "GOBIN": str(_BIN), "CGO_ENABLED": "0"}
    if not os.access(os.environ.get("HOME", ""), os.W_OK):
        environment.setdefault("GOPATH", str(_VENV / "cache" / "go"))
        environment.setdefault("GOCACHE", str(_VENV / "cache" / "go-build"))
        environment["GOFLAGS"] = "-modcacherw"  # otherwise .venv could not be deleted
    return environment


def find_tool(name: str) -> Path | None:
    """Return the path of a program, which is built if it is missing; None without Go and without the program.

    Raises:
        RuntimeError: the build failed.
    """
    built = _BIN / name
    if built.exists():
        return built
    go = shutil.which("go")
    if go is None:
        found = shutil.which(name)
        return Path(found) if found else None
    install = subprocess.run(
        [go, "install", _MODULES[name]], check=False, env=go_environment(), capture_output=True, text=True, timeout=900
    )
    if install.returncode:
        raise RuntimeError(f"{name} cannot be built: {install.stderr}")
    return built


if __name__ == "__main__":
    for tool in sys.argv[1:] or _MODULES:
        print(tool, find_tool(tool))
