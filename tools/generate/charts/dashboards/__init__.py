"""Dashboards of charts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.generate.charts.dashboards.pictures import PICTURES
from tools.generate.files import ROOT

DASHBOARDS: Final = (PICTURES,)


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield the file of each dashboard with its expected text."""
    for dashboard in DASHBOARDS:
        path = ROOT / "helm" / dashboard.chart / "dashboards" / f"{dashboard.chart}.json"
        yield path, json.dumps(dashboard.render(), indent=2) + "\n"
