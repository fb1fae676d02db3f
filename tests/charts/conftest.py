"""Fixtures: copies of the charts with built dependencies, rendered by helm."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.requirements import go_tool

ROOT = Path(__file__).resolve().parents[2]
SERVICES = sorted(path.parent.name for path in (ROOT / "services").glob("*/Dockerfile"))
Manifests = list[dict[str, Any]]


@pytest.fixture(scope="session")
def helm() -> Path:
    return go_tool("helm")


@pytest.fixture(scope="session")
def charts(helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("charts") / "helm"
    shutil.copytree(ROOT / "helm", folder, ignore=shutil.ignore_patterns("charts", "Chart.lock"))
    for chart in [*SERVICES, "classifeed"]:  # the umbrella chart last: it packs the others
        subprocess.run([helm, "dependency", "update", folder / chart], check=True, capture_output=True, timeout=60)
    return folder


@pytest.fixture(scope="session")
def render(helm: Path, charts: Path) -> Callable[..., Manifests]:
    def rendered(chart: str, *settings: str, release: str = "shop", values: Path | None = None) -> Manifests:
        sets = [part for setting in settings for part in ("--set", setting)]
        files: list[str | Path] = ["--values", values] if values is not None else []
        result = subprocess.run(
            [helm, "template", release, charts / chart, *files, *sets],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if result.returncode:
            raise ValueError(result.stderr)
        return [document for document in yaml.safe_load_all(result.stdout) if document]

    return rendered
