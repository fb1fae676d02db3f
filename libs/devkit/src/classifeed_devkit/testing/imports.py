"""Modules that a process loads by its imports; each import delays its start."""

from __future__ import annotations

import subprocess
import sys


def loaded_by(*modules: str) -> set[str]:
    """Return the names of all modules in a new process that has imported `modules`."""
    script = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    command = [sys.executable, "-I", "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - the program is this one
    return set(done.stdout.split())
