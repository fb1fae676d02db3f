"""The schema of the values of every service's chart, made from the schema in the library chart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from tools.generate.files import ROOT

SOURCE: Final = ROOT / "helm/lib/values.schema.yaml"


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield each schema file with its expected text."""
    schema = json.dumps(yaml.safe_load(SOURCE.read_text("utf-8")), indent=2) + "\n"
    for chart in sorted(path.parent for path in ROOT.glob("services/*/Dockerfile")):
        yield ROOT / "helm" / chart.name / "values.schema.json", schema
