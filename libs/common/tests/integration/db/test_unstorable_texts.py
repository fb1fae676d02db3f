"""A text that PostgreSQL cannot store is reported as the sender's fault, at every entry point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from classifeed_common.db import Database
from classifeed_common.errors import Internal, InvalidArgument
from classifeed_common.rpc.faults import explain

_STATEMENTS: dict[str, tuple[str, Callable[[str], list[Any]]]] = {
    "text": ("INSERT INTO kept (name) VALUES (%s)", lambda text: [text]),
    "array": ("INSERT INTO kept (name) SELECT * FROM unnest(%s::text[])", lambda text: [[text]]),
    "jsonb": ("INSERT INTO kept (value) VALUES (%s)", lambda text: [Jsonb({"a": [text]})]),
    "name in jsonb": ("INSERT INTO kept (value) VALUES (%s)", lambda text: [Jsonb({text: 1})]),
    "compared": ("SELECT FROM kept WHERE name = %s", lambda text: [text]),
}


@pytest.fixture
async def kept(database: Database) -> Database:
    async with database.transaction() as tx:
        await tx.execute("CREATE TABLE kept (name text, value jsonb)")
    return database


async def run(database: Database, way: str, text: str) -> None:
    statement, parameters = _STATEMENTS[way]
    async with database.transaction() as tx:
        await tx.execute(statement, parameters(text))


@pytest.mark.parametrize("way", _STATEMENTS)
async def test_a_nul_is_refused_in_words_and_not_as_a_fault_of_ours(kept: Database, way: str) -> None:
    with pytest.raises(psycopg.DataError) as caught:
        await run(kept, way, "a\0b")
    shown = explain(caught.value, "test")
    assert (type(shown), shown.reason) == (InvalidArgument, "TEXT_UNSTORABLE")


@pytest.mark.parametrize("way", ["text", "array", "compared"])
async def test_half_a_surrogate_pair_is_too(kept: Database, way: str) -> None:
    with pytest.raises(UnicodeEncodeError) as caught:
        await run(kept, way, "a\ud800b")
    assert explain(caught.value, "test").reason == "TEXT_UNSTORABLE"


async def test_other_wrong_values_stay_faults_of_ours(kept: Database) -> None:
    with pytest.raises(psycopg.DataError) as caught:
        async with kept.transaction() as tx:
            await tx.execute("SELECT 1 / %s", [0])
    assert isinstance(explain(caught.value, "test"), Internal)
