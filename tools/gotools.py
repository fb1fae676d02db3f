"""Go programs that tests use, built once from the module proxy into .venv/gobin.

Only development and CI need them; the two commands of the README do not.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from tools.arguments import parser_of

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

    Processes that need it at the same time wait for one build.

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
    _BIN.mkdir(parents=True, exist_ok=True)
    with (_BIN / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            _install(go, _MODULES[name])
    return built


def _install(go: str, module: str) -> None:
    install = subprocess.run(
        [go, "install", module], check=False, env=go_environment(), capture_output=True, text=True, timeout=900
    )
    if install.returncode:
        raise RuntimeError(f"{module} cannot be built: {install.stderr}")


if __name__ == "__main__":
    _parser = parser_of(__doc__)
    _parser.add_argument("tools", nargs="*", metavar="TOOL", help="helm, grpcurl or both; both by default")
    for _tool in _parser.parse_args().tools or _MODULES:
        print(_tool, find_tool(_tool))
