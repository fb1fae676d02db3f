"""The page of retention has a bound for every table of every service, including new ones."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from sqlalchemy import MetaData

from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_common.db import shared_tables
from classifeed_jobs import add_jobs
from tests.docs.pages import REFERENCE, ROOT, default_of

SERVICES = [name for name, spec in ServiceTable.load().services.items() if spec.database]
SHARED = "Every service that has them"
PAGE = (REFERENCE / "retention.md").read_text("utf-8")
YEAR = "tests/integration/test_retention.py"


def rows() -> dict[str, dict[str, list[str]]]:
    """Return the bound, the remover and the test of each table, by section."""
    found: dict[str, dict[str, list[str]]] = {}
    for section in PAGE.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        cells = [line.strip("| ").split(" | ") for line in text.splitlines()[2:] if line.startswith("|")]
        found[title] = {table: rest for table, *rest in cells}
    return found


def names_of(metadata: MetaData) -> set[str]:
    return {table.name for table in metadata.tables.values() if not table.name.endswith("_default")}


def test_page_has_every_table_of_every_service() -> None:
    common = MetaData()
    for add in (add_jobs, *(getattr(shared_tables, name) for name in shared_tables.__all__)):
        add(common)
    wanted = {SHARED: names_of(common)}
    for service in SERVICES:
        wanted[service] = names_of(import_module(f"classifeed_{service}.store.tables").metadata) - wanted[SHARED]
    assert {section: set(tables) for section, tables in rows().items()} == wanted
    with_tables = {path.parents[1].name for path in (ROOT / "services").glob("*/src/*/store/tables.py")}
    assert with_tables == {f"classifeed_{service}" for service in SERVICES}


def test_what_is_removed_is_tested_and_what_is_not_says_why() -> None:
    for tables in rows().values():
        for table, (bound, removed_by, test) in tables.items():
            if removed_by == "–":
                assert test == "–", table
                assert re.search(r"one row|64", bound), f"{table}: say why it does not need to shrink"
            else:
                assert (ROOT / test).is_file(), f"{table}: {test}"


def test_year_of_loads_counts_the_tables_that_name_it() -> None:
    counted = set(re.findall(r'"(\w+)":', Path(ROOT / YEAR).read_text("utf-8")))
    assert {table for tables in rows().values() for table, (*_, test) in tables.items() if test == YEAR} <= counted


def test_settings_have_the_defaults_of_the_code() -> None:
    stated = dict(re.findall(r"`([A-Z_]+)` \((\d+)\)", PAGE))
    assert stated
    for name, default in stated.items():
        assert str(default_of(name)) == default, name


def test_what_charts_say_of_settings_is_so_and_retention_is_named() -> None:
    for service in SERVICES:
        values = " ".join(re.findall(r"^# ?(.*)", (ROOT / "helm" / service / "values.yaml").read_text("utf-8"), re.M))
        prefix = f"CLASSIFEED_{service.upper()}_"
        stated = {prefix + name: number for name, number in re.findall(r"\b([A-Z][A-Z0-9_]+) \((\d+)", values)}
        for name, default in stated.items():
            assert float(default) == default_of(name), name
        assert set(re.findall(rf"{prefix}\w+", PAGE)) <= set(stated)
