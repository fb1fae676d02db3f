"""`make bench-alone`: size and import time of the job engine, compared with Procrastinate in the same run.

Each side has its own environment, with the wheels of the same drivers. Imports alternate, each in a new process.
"""

from __future__ import annotations

import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Final

from tools.arguments import parse

from bench.alone.environment import list_packages, size_mb
from bench.kit.report import Report, Spread, ratios
from bench.kit.running import scratch, size_of

_ROUNDS: Final = size_of("BENCH_ALONE_ROUNDS", 25)
_ROOT: Final = Path(__file__).resolve().parents[2]
_GOAL: Final = 1.2
_SIDES: Final = {
    "classifeed_jobs": [str(_ROOT / "libs/common"), str(_ROOT / "libs/jobs")],
    "procrastinate": ["procrastinate", "psycopg[binary,pool]"],
}


def install(folder: Path, wanted: list[str]) -> Path:
    """Return the Python of a new environment with the packages `wanted`."""
    venv.create(folder, with_pip=True)
    python = folder / "bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
    return python


def import_ms(python: Path, module: str) -> float:
    """Return the milliseconds that a process takes to start and import a module."""
    began_s = time.perf_counter()
    subprocess.run([python, "-c", f"import {module}"], check=True)
    return (time.perf_counter() - began_s) * 1000


def main() -> int:
    """Measure both sides and report. Return 1 if the goal is missed."""
    parse(__doc__)
    report = Report("alone", rounds=_ROUNDS)
    with scratch() as folder:
        pythons = {module: install(folder / module, wanted) for module, wanted in _SIDES.items()}
        times: dict[str, list[float]] = {module: [] for module in _SIDES}
        for turn in range(_ROUNDS + 2):
            for module, python in pythons.items():
                taken_ms = import_ms(python, module)
                if turn > 1:  # the first imports compile the byte code and fill the page cache
                    times[module].append(taken_ms)
        rows = {
            module: (len(list_packages(python)), size_mb(folder / module), Spread(times[module]))
            for module, python in pythons.items()
        }
    report.table("In its own environment", ["packages", "MB", "import ms"], rows)
    report.at_most("import, ratio to procrastinate", ratios(*times.values()), _GOAL)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
