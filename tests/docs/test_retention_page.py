"""Every table of every service stands on the page of retention: a new one is bounded there, or this fails."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from pydantic_settings import BaseSettings
from sqlalchemy import MetaData

from classifeed_common.db import shared_tables
from classifeed_jobs.tables import add_jobs
from classifeed_loader.settings import Hosting
from tests.docs.pages import REFERENCE, ROOT

SERVICES = ("api", "loader", "processor", "offers", "receiver", "indexer")
SHARED = "Every service that has them"
PAGE = (REFERENCE / "retention.md").read_text("utf-8")
YEAR = "tests/integration/test_retention.py"


def rows() -> dict[str, dict[str, list[str]]]:
    """Return bound, what removes, and test of each table, by section."""
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
                assert re.search(r"one row|64", bound), f"{table}: why need it not shrink?"
            else:
                assert (ROOT / test).is_file(), f"{table}: {test}"


def test_year_of_loads_counts_the_tables_that_name_it() -> None:
    counted = set(re.findall(r'"(\w+)":', Path(ROOT / YEAR).read_text("utf-8")))
    assert {table for tables in rows().values() for table, (*_, test) in tables.items() if test == YEAR} <= counted


def test_settings_have_the_defaults_of_the_code() -> None:
    said = dict(re.findall(r"`([A-Z_]+)` \((\d+)\)", PAGE))
    assert said
    for name, default in said.items():
        assert str(default_of(name)) == default, name


def default_of(name: str) -> object:
    if not name.startswith("CLASSIFEED_"):
        return Hosting.model_fields[name.lower()].default
    service, _, field = name.removeprefix("CLASSIFEED_").lower().partition("_")
    settings: type[BaseSettings] = getattr(
        import_module(f"classifeed_{service}.settings"), f"{service.capitalize()}Settings"
    )
    return settings.model_fields[field].default
