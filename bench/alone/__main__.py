"""`make bench-alone`: size and import time of the job engine, compared with Procrastinate in the same run.

Each side has its own environment, with the wheels of the same drivers. Imports alternate, each in a new process.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Final

from tools.arguments import parse

from bench.alone.environment import list_packages, size_mb

_ROUNDS: Final = int(os.environ.get("BENCH_ALONE_ROUNDS", "25"))
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


def import_s(python: Path, module: str) -> float:
    """Return the seconds that a process takes to start and import a module."""
    began_s = time.perf_counter()
    subprocess.run([python, "-c", f"import {module}"], check=True)
    return time.perf_counter() - began_s


def main() -> int:
    """Measure both sides, print the table and the JSON line. Return 1 if the goal is missed."""
    parse(__doc__)
    with tempfile.TemporaryDirectory(prefix="bench-alone-") as scratch:
        pythons = {module: install(Path(scratch) / module, wanted) for module, wanted in _SIDES.items()}
        times: dict[str, list[float]] = {module: [] for module in _SIDES}
        for turn in range(_ROUNDS + 2):
            for module, python in pythons.items():
                seconds = import_s(python, module)
                if turn > 1:  # the first imports compile the byte code and fill the page cache
                    times[module].append(seconds)
        rows = {
            module: {
                "packages": len(list_packages(python)),
                "mb": round(size_mb(Path(scratch) / module), 1),
                "import_ms": round(statistics.median(times[module]) * 1000, 1),
                "import_ms_min": round(min(times[module]) * 1000, 1),
                "import_ms_max": round(max(times[module]) * 1000, 1),
            }
            for module, python in pythons.items()
        }
    ours, other = (times[module] for module in _SIDES)
    ratio = statistics.median(mine / theirs for mine, theirs in zip(ours, other, strict=True))
    print(f"{'':<16}{'packages':>9}{'MB':>7}{'import, ms':>26}")
    for module, row in rows.items():
        spread = f"{row['import_ms']} ({row['import_ms_min']}–{row['import_ms_max']})"
        print(f"{module:<16}{row['packages']:>9}{row['mb']:>7}{spread:>26}")
    print(f"{'ratio':<16}{ratio:>42.2f}  goal ≤ {_GOAL:g}: {'met' if ratio <= _GOAL else 'MISSED'}")
    print(json.dumps({"bench": "alone", "rounds": _ROUNDS, "import_ratio": round(ratio, 3), **rows}))
    return 0 if ratio <= _GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
