"""Hosts that refuse all requests: since when, and which of them are listed for operators."""

from __future__ import annotations

import pytest

from classifeed_common.db import Database, ddl
from classifeed_common.fetch.faults import FETCH_FAULTS
from classifeed_common.fetch.permits import Outcome, outcome_of
from classifeed_common.host_limits import HostLimits, HostPolicy
from classifeed_common.host_limits.table import _SQL, HostReport, HostTable
from classifeed_devkit.testing.plans import scanned_tables

HOST = "shop.example.com"
DAY_S = 86400.0


@pytest.fixture
async def db(database: Database) -> Database:
    async with database.connection() as connection:
        await connection.execute(ddl("fetch_hosts", 1) + ddl("fetch_hosts", 2))
    return database


async def report(db: Database, *outcomes: Outcome, host: str = HOST) -> None:
    """Report outcomes in one round."""
    counts = {outcome: outcomes.count(outcome) for outcome in outcomes}
    await HostTable(db, HostPolicy()).draw(host, HostReport(counts=counts), wants=False)


async def let_pass(db: Database, hours: int) -> None:
    """Move all times back."""
    async with db.connection() as connection:
        await connection.execute(
            "UPDATE fetch_hosts SET refused_since = refused_since - %(by)s::interval,"
            "       updated_at = updated_at - %(by)s::interval",
            {"by": f"{hours} hours"},
        )


async def refusing(db: Database) -> list[str]:
    return await HostLimits(db).list_refusing(DAY_S, wanted_s=7 * DAY_S)


async def failures_of(db: Database) -> int:
    async with db.connection() as connection:
        [(count,)] = await (await connection.execute("SELECT sum(failed_count)::int FROM fetch_hosts")).fetchall()
    return int(count)


def test_what_is_of_the_host_as_a_whole_is_a_refusal() -> None:
    refusals = {code for code in FETCH_FAULTS if outcome_of(code) is Outcome.REFUSED}
    assert refusals == {"HTTP_UNAUTHORIZED", "HTTP_FORBIDDEN", "CONNECT_REFUSED", "CONNECT_FAILED"}
    assert outcome_of("HTTP_NOT_FOUND") is Outcome.FAILED
    assert outcome_of("HTTP_TOO_MANY_REQUESTS") is Outcome.SLOW_DOWN


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.SLOW_DOWN])
async def test_a_host_counts_that_has_refused_for_a_day_and_is_still_wanted(db: Database, outcome: Outcome) -> None:
    await report(db, outcome)
    await let_pass(db, 20)
    await report(db, outcome)
    assert await refusing(db) == []
    await let_pass(db, 5)
    assert await refusing(db) == [], "nobody has wanted it since"
    await report(db, outcome)
    assert await refusing(db) == [HOST]
    await let_pass(db, 24 * 7)
    assert await refusing(db) == [], "nobody wants it any more"
    await report(db)
    assert await refusing(db) == [HOST]


async def test_one_success_ends_it_and_a_missing_file_neither_ends_nor_begins_it(db: Database) -> None:
    await report(db, Outcome.FAILED)
    await let_pass(db, 30)
    await report(db, Outcome.FAILED)
    assert await refusing(db) == []
    await report(db, Outcome.REFUSED)
    await let_pass(db, 30)
    await report(db, Outcome.FAILED, Outcome.REFUSED)
    assert await refusing(db) == [HOST]
    await report(db, Outcome.REFUSED, Outcome.OK)
    assert await refusing(db) == []
    await let_pass(db, 30)
    await report(db, Outcome.REFUSED)
    assert await refusing(db) == [], "it begins anew"
    assert await failures_of(db) == 7


async def test_the_longest_comes_first_and_none_is_sought_among_those_that_respond(db: Database) -> None:
    for host in ("first.example.com", "second.example.com"):
        await report(db, Outcome.REFUSED, host=host)
        await let_pass(db, 30)
    for host in ("second.example.com", "first.example.com"):
        await report(db, host=host)
    assert await refusing(db) == ["first.example.com", "second.example.com"]
    async with db.connection() as connection:
        await connection.execute(
            "INSERT INTO fetch_hosts (host, rate) SELECT i || '.example.com', 1 FROM generate_series(1, 20000) i"
        )
        await connection.execute("ANALYZE fetch_hosts")
        given = {"for_s": DAY_S, "wanted_s": DAY_S, "limit": 10}
        assert await scanned_tables(connection, _SQL["list_refusing"], given) == set()
