"""Dashboards of charts.

python -m tools.dashboards            # write
python -m tools.dashboards --check    # list files that are not up to date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.dashboards.pictures import PICTURES
from tools.generated import ROOT, write_or_check

DASHBOARDS: Final = (PICTURES,)


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield the file of each dashboard with its expected text."""
    for dashboard in DASHBOARDS:
        path = ROOT / "helm" / dashboard.chart / "dashboards" / f"{dashboard.chart}.json"
        yield path, json.dumps(dashboard.render(), indent=2) + "\n"


def main() -> int:
    """Write or check the files; return the exit code."""
    return write_or_check(list_files(), "tools.dashboards")


if __name__ == "__main__":
    sys.exit(main())
