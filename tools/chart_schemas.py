"""The schema of the values of every service's chart, made from the schema in the library chart.

python -m tools.chart_schemas            # write
python -m tools.chart_schemas --check    # list files that are not up to date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from tools.generated import ROOT, write_or_check

SOURCE: Final = ROOT / "helm/lib/values.schema.yaml"


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield each schema file with its expected text."""
    schema = json.dumps(yaml.safe_load(SOURCE.read_text("utf-8")), indent=2) + "\n"
    for chart in sorted(path.parent for path in ROOT.glob("services/*/Dockerfile")):
        yield ROOT / "helm" / chart.name / "values.schema.json", schema


def main() -> int:
    """Write or check the files; return the exit code."""
    return write_or_check(list_files(), "tools.chart_schemas")


if __name__ == "__main__":
    sys.exit(main())
