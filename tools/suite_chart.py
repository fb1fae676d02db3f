"""The dependencies of the suite's chart: the charts of all services of `up`.

python -m tools.suite_chart            # write
python -m tools.suite_chart --check    # list files that are not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from classifeed_cli.platform.planning.service_table import ServiceTable
from tools.generated import ROOT, write_or_check

CHART: Final = ROOT / "helm/classifeed/Chart.yaml"
_MARK: Final = """# Written by `python -m tools.suite_chart` from the services of `up` (services.toml) and their charts.
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


def main() -> int:
    """Write or check the files; return the exit code."""
    return write_or_check(list_files(), "tools.suite_chart")


if __name__ == "__main__":
    sys.exit(main())
