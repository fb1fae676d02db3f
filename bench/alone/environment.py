"""Packages and size of an environment."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Final

_BROUGHT: Final = {"pip", "setuptools"}
_DRIVERS: Final = ("psycopg", "pip", "setuptools", "pkg_")


def list_packages(python: Path) -> set[str]:
    """Return the installed distributions, without those that every environment has."""
    command: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "list", "--format=json"]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {package["name"] for package in listed} - _BROUGHT


def size_mb(folder: Path) -> float:
    """Return the size of the installed packages without the drivers, in MB."""
    [site] = folder.glob("lib/python*/site-packages")
    own = [each for each in site.iterdir() if not each.name.lower().startswith(_DRIVERS)]
    return sum(file.stat().st_size for each in own for file in (each, *each.rglob("*")) if file.is_file()) / 1e6
