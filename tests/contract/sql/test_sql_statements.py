"""Every block of every `.sql` file is a statement that PostgreSQL accepts unchanged (ADR 0003)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import psycopg
import pytest
from tools.checks import wide_rows
from tools.generate import sql
from tools.generate.files import list_stale

from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_common.db import ddl
from classifeed_common.db.queries import parse_queries
from classifeed_devkit.testing.databases import MigratedDatabase

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted(path for path in ROOT.glob("*/*/src/**/*.sql") if "ddl" not in f"{path.parent.name}/{path.name}")
SERVICES = [name for name, spec in ServiceTable.load().services.items() if spec.database]
# The tables of a library are in the schema of each service that uses it.
_OWNERS = {"blobs": "api"}
# Tables of libraries that no service has yet; the test creates them in this schema.
_OF_NO_SERVICE = {"offers": {"fetch_hosts": 2}}
_PARAMETER = re.compile(r"%\((\w+)\)[sb]")
# Statements that PostgreSQL cannot prepare.
_UTILITY = re.compile(r"(SET|VACUUM|LOCK|NOTIFY|LISTEN|CREATE|ALTER|DROP|COPY|TRUNCATE|ANALYZE)\b")
_COUNT_COLUMNS = "SELECT coalesce(cardinality(result_types), 0) FROM pg_prepared_statements WHERE name = 'attempt'"


def _owner_of(path: Path) -> str:
    top, name, *_ = path.relative_to(ROOT).parts
    return name if top == "services" else _OWNERS.get(path.parent.name, "offers")


def _roots_of(files: Iterable[Path]) -> list[Path]:
    """Return the source folders of the distributions of these files."""
    return sorted({ROOT.joinpath(*path.relative_to(ROOT).parts[:4]) for path in files})


def _prepared(statement: str) -> str:
    names = list(dict.fromkeys(_PARAMETER.findall(statement)))
    return _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", statement).replace("%%", "%")


@pytest.mark.parametrize("service", SERVICES)
async def test_every_block_is_prepared(service: str, migrated_database: MigratedDatabase) -> None:
    own = [path for path in FILES if _owner_of(path) == service]
    database = await migrated_database(f"classifeed_{service}", service)
    refused = []
    wide: dict[Path, list[str]] = {}
    async with database.connection() as connection:
        for table, versions in _OF_NO_SERVICE.get(service, {}).items():
            for version in range(1, versions + 1):
                await connection.execute(ddl(table, version))
        for path in own:
            for name, statement in parse_queries(str(path), path.read_text("utf-8")).items():
                if _UTILITY.match(statement):
                    if re.match("CREATE (TEMPORARY )?TABLE IF NOT EXISTS", statement):  # later blocks use the table
                        await connection.execute(statement)
                    continue
                try:
                    await connection.execute(f"PREPARE attempt AS {_prepared(statement)}")
                    [(columns,)] = await (await connection.execute(_COUNT_COLUMNS)).fetchall()
                    if columns > wide_rows.COLUMNS:
                        wide.setdefault(path, []).append(name)
                    await connection.execute("DEALLOCATE attempt")
                except psycopg.Error as error:
                    refused.append(f"{path.relative_to(ROOT)} {name}: {error}")
    assert own
    assert not refused, "\n".join(refused)
    by_position = [read for root in _roots_of(own) for read in wide_rows.list_positional(root, wide)]
    assert not by_position, "rows of many columns by position, not by fetch_named or fetch_as:\n" + "\n".join(
        by_position
    )


def test_every_file_has_an_owner() -> None:
    assert {_owner_of(path) for path in FILES} == set(SERVICES)


def test_assembled_statements_are_up_to_date() -> None:
    made = dict(sql.list_files())
    assert made
    assert list_stale(made.items()) == [], "run `make stubs`"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("-- statement: a = b()\n\n-- part: b\nSELECT {c}\n", "has no part 'c'"),
        ("-- statement: a = b()\n\n-- part: b\nSELECT 1\n\n-- part: c\nSELECT 2\n", "no statement uses c"),
    ],
)
def test_wrong_parts_are_named(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        sql.assemble("x.parts", text)
