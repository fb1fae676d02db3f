"""The README of a chart lists every value, with its default and its purpose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tools.generate.charts import readmes
from tools.generate.files import list_stale

from tests.charts.conftest import ROOT, SERVICES

CHARTS = [*SERVICES, "classifeed"]


def table(chart: str) -> dict[str, list[str]]:
    """Return the cells of each row, by the name of its value."""
    lines = (ROOT / f"helm/{chart}/README.md").read_text("utf-8").splitlines()
    rows = [line.replace("\\|", "/").strip("| ").split(" | ") for line in lines if line.startswith("| `")]
    return {path.strip("`"): cells for path, *cells in rows}


def leaves(values: dict[str, Any], above: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict) and value and name not in {"requests", "limits"}:
            yield from leaves(value, f"{above}{name}.")
        else:
            yield above + name


def test_readmes_are_made_from_the_values() -> None:
    assert list_stale(readmes.list_files()) == [], "run `make stubs`"


@pytest.mark.parametrize("chart", CHARTS)
def test_every_value_has_its_default_and_a_description(chart: str) -> None:
    rows = table(chart)
    values = yaml.safe_load((ROOT / f"helm/{chart}/values.yaml").read_text("utf-8"))
    for path in leaves(values):
        value = values
        for name in path.split("."):
            value = value[name]
        assert yaml.safe_load(rows[path][1].strip("`")) == value, path
    assert not [path for path, cells in rows.items() if len(cells) != 3 or not cells[0] or not cells[2]]


def test_what_may_be_set_without_a_default_is_named_too() -> None:
    assert {"pod.tolerations", "ingress.host", "roles.work.storage", "alerts.heldHours"} <= table("api").keys()
