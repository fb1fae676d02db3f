"""The dependencies of the suite's chart: the charts of all services of `up`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from classifeed_cli.platform.planning.service_table import ServiceTable
from tools.generate.files import ROOT

CHART: Final = ROOT / "helm/classifeed/Chart.yaml"
_MARK: Final = """# Written by `make stubs` from the services of `up` (services.toml) and their charts.
dependencies:
"""


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield the file with its expected text; the part above the dependencies stays unchanged."""
    head = CHART.read_text("utf-8").partition(_MARK)[0]
    yield CHART, head + _MARK + "".join(map(_dependency, ServiceTable.load().services))


def _dependency(service: str) -> str:
    version = yaml.safe_load((ROOT / "helm" / service / "Chart.yaml").read_text("utf-8"))["version"]
    return (
        f"  - name: {service}\n    version: {version}\n    repository: file://../{service}\n"
        f"    condition: {service}.enabled\n"
    )
