"""The processor with real tables: its rows and messages, and concurrent writers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DeleteOrder, DownloadOrder
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_common.db import Database
from classifeed_pictures.domain.lifecycle.events import Deletion, GivenUp, Look, Unused
from classifeed_pictures.domain.lifecycle.retries import DELETED
from classifeed_pictures.domain.lifecycle.states import State
from classifeed_pictures.store.states.states import StateChanged, list_states, write_states

from ..histories import Processor, hash_of, hours_ago, info, loaded, request

NOT_FOUND = LoadFailure(code="HTTP_NOT_FOUND", http_status=404, message="The host has no such file.")


@pytest.fixture
async def processor(migrated_database: Callable[..., Any]) -> Processor:
    return Processor(await migrated_database("classifeed_pictures"))


async def _writes(database: Database) -> tuple[int, int, int]:
    """Return the rows of states inserted, changed and deleted so far, by the statistics of the table."""
    async with database.connection() as connection:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        await connection.commit()
        cursor = await connection.execute(
            "SELECT n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_all_tables "
            "WHERE relname = 'pictures' AND schemaname = current_schema()"
        )
        [row] = await cursor.fetchall()
    return (row[0], row[1], row[2])


async def test_many_requests_for_one_url_order_it_once_and_each_is_settled(processor: Processor) -> None:
    await processor.process({1: [request(str(n)) for n in range(1000)]})
    await processor.process({1: [request(str(n)) for n in range(1000, 2000)]})
    [order] = await processor.orders()
    assert isinstance(order, DownloadOrder)
    assert await processor.results() == []
    await processor.process({1: [loaded(info(1), order.attempt)]})
    results = await processor.results()
    assert sorted(int(result.reference) for result in results) == list(range(2000))
    assert all(result.info == info(1) and result.attempt == order.attempt for result in results)
    assert await processor.rows("SELECT count(*) FROM requests_in_flight") == [(0,)]


async def test_a_known_picture_is_settled_and_no_state_is_written(processor: Processor) -> None:
    await processor.store(1)
    before = await _writes(processor.database)
    await processor.process({1: [request("again"), request("again", recipient="other")]})
    assert {(result.reference, result.info.name) for result in await processor.results()} == {("again", info(1).name)}
    assert await _writes(processor.database) == before
    assert await processor.orders() == []


async def test_a_change_is_sent_once_to_each_who_knows_the_old_one(processor: Processor) -> None:
    await processor.store(1)
    await processor.process({1: [request("2"), request("2"), request("3", recipient="other")]})
    await processor.results()
    await processor.process({1: [request("later", namespace="shops")]})
    [copy] = await processor.orders()
    await processor.process({1: [loaded(info(1, "shops"), copy.attempt, "shops")]})
    await processor.results()
    await processor.rows("UPDATE pictures SET refresh_at = now() RETURNING 1")
    await processor.process({1: [Look(is_forced=False, at=hours_ago(0))]})
    [order] = await processor.take(DownloadOrder)
    assert order.held == info(1, order.namespace)
    changed = loaded(info(1, order.namespace, b"2"), order.attempt, order.namespace)
    await processor.process({1: [changed]})
    await processor.process({1: [changed]})
    [copy] = await processor.take(CopyOrder)
    await processor.process({1: [loaded(info(1, copy.namespace, b"2"), copy.attempt, copy.namespace)]})
    results = await processor.results()
    assert sorted((result.namespace, result.reference) for result in results) == [
        ("offers", "1"),
        ("offers", "2"),
        ("offers", "3"),
        ("shops", "later"),
    ]
    assert {result.info.name for result in results} == {info(1, content=b"2").name}
    await processor.process({1: [Deletion("shops", hours_ago(-0.001))]})
    [result] = await processor.results()
    assert (result.reference, result.failure.code, result.attempt > changed.attempt) == ("later", DELETED, True)
    assert await processor.rows("SELECT DISTINCT namespace FROM settled_requests") == [("offers",)]
    await processor.process({1: [Deletion("", hours_ago(-0.001))]})
    assert {(result.reference, result.failure.code) for result in await processor.results()} == {
        ("1", DELETED),
        ("2", DELETED),
        ("3", DELETED),
    }
    assert await processor.rows("SELECT count(*) FROM settled_requests") == [(0,)]


async def test_a_known_request_clears_the_mark(processor: Processor) -> None:
    await processor.store(1)
    await processor.rows("UPDATE pictures SET requested_at = %s RETURNING 1", hours_ago(48))
    await processor.process({1: [Unused(hours_ago(30))]})
    assert await processor.rows("SELECT delete_mark_at IS NULL FROM pictures") == [(False,)]
    await processor.process({1: [request("2")]})
    assert await processor.rows("SELECT delete_mark_at IS NULL FROM pictures") == [(True,)]
    await processor.process({1: [Unused(hours_ago(1))]})
    assert await processor.orders() == []


async def test_two_comparisons_delete_state_requests_and_picture(processor: Processor) -> None:
    await processor.store(1)
    await processor.rows("UPDATE pictures SET requested_at = %s RETURNING 1", hours_ago(48))
    await processor.process({1: [Unused(hours_ago(30)), Unused(hours_ago(20))]})
    assert await processor.orders() == []
    await processor.process({1: [Unused(hours_ago(1))]})
    [order] = await processor.orders()
    assert isinstance(order, DeleteOrder)
    assert (order.name, order.namespace) == (info(1).name, "offers")
    assert await processor.rows("SELECT count(*) FROM pictures") == [(0,)]
    [result] = await processor.results()
    assert (result.reference, result.failure.code) == ("1", DELETED)
    assert await processor.rows("SELECT count(*) FROM settled_requests") == [(0,)]


async def test_two_comparisons_keep_what_another_recipient_needs_until_it_gives_up(processor: Processor) -> None:
    await processor.store(1)
    await processor.process({1: [request("banner", recipient="banners", client="")]})
    await processor.rows("UPDATE pictures SET requested_at = %s RETURNING 1", hours_ago(48))
    await processor.process({1: [Unused(hours_ago(30))]})
    await processor.process({1: [Unused(hours_ago(1))]})
    assert await processor.orders() == []
    [known] = await processor.results()
    assert known.reference == "banner"
    await processor.process({1: [GivenUp("", "banners", hours_ago(0))]})
    [ended] = await processor.results()
    assert (ended.reference, ended.failure.code, ended.attempt > known.attempt) == ("banner", DELETED, True)
    assert await processor.rows("SELECT recipient, client FROM settled_requests") == [("seller", "offers")]
    await processor.process({1: [Unused(hours_ago(30))]})
    await processor.process({1: [Unused(hours_ago(1))]})
    [order] = await processor.orders()
    assert isinstance(order, DeleteOrder)
    assert [result.reference for result in await processor.results()] == ["1"]


async def test_requests_that_wait_or_are_settled_in_the_same_poll_end_with_their_recipient(
    processor: Processor,
) -> None:
    await processor.process({1: [request(), request("a", recipient="banners", client="")]})
    await processor.process({2: [request(), request("b", recipient="banners", client="")]})
    [first, _] = await processor.take(DownloadOrder)
    given_up = GivenUp("offers", "banners", hours_ago(0))
    await processor.process({1: [loaded(info(1), first.attempt), given_up], 2: [given_up]})
    found = [(each.reference, each.failure.code) for each in await processor.results()]
    assert sorted(found) == [("1", ""), ("a", ""), ("a", DELETED), ("b", DELETED)]
    assert found.index(("a", "")) < found.index(("a", DELETED))
    assert await processor.rows("SELECT recipient FROM settled_requests") == [("seller",)]
    assert await processor.rows("SELECT recipient FROM requests_in_flight") == [("seller",)]


async def test_a_failure_that_lasts_is_reported_once_and_a_success_once_more(processor: Processor) -> None:
    await processor.process({1: [request()]})
    await processor.process({1: [loaded(NOT_FOUND, await processor.attempt(1))]})
    [failed] = await processor.results()
    assert failed.failure == NOT_FOUND
    await processor.rows("UPDATE pictures SET retry_at = now() - interval '1 s' RETURNING 1")
    await processor.process({1: [request("2")]})
    [known] = await processor.results()
    assert (known.failure, known.reference) == (NOT_FOUND, "2")
    await processor.process({1: [loaded(NOT_FOUND, await processor.attempt(1))]})
    assert await processor.results() == []
    await processor.rows("UPDATE pictures SET retry_at = now() - interval '1 s' RETURNING 1")
    await processor.process({1: [request("3")]})
    await processor.results()
    await processor.process({1: [loaded(info(1), await processor.attempt(1))]})
    results = await processor.results()
    assert {result.reference for result in results} == {"1", "2", "3"}
    assert all(result.attempt > failed.attempt for result in results)


async def test_a_request_that_waits_in_two_namespaces_brings_one_download_and_one_copy(processor: Processor) -> None:
    await processor.process({1: [request(), request(namespace="shops")]})
    [download] = await processor.orders()
    await processor.process({1: [loaded(info(1), download.attempt)]})
    [copy] = await processor.orders()
    assert isinstance(copy, CopyOrder)
    assert [result.namespace for result in await processor.results()] == ["offers"]
    await processor.process({1: [loaded(info(1, "shops"), copy.attempt, "shops")]})
    assert [result.namespace for result in await processor.results()] == ["shops"]


async def test_a_deletion_and_a_request_of_one_poll_keep_their_order(processor: Processor) -> None:
    await processor.store(1)
    await processor.process({1: [Deletion("", hours_ago(-0.001)), request("later")]})
    orders = await processor.orders()
    assert sorted(type(order).__name__ for order in orders) == ["DeleteOrder", "DownloadOrder"]
    assert [(result.reference, result.failure.code) for result in await processor.results()] == [("1", DELETED)]
    assert await processor.rows("SELECT reference FROM requests_in_flight") == [("later",)]


async def test_a_state_that_changed_meanwhile_is_not_overwritten(processor: Processor) -> None:
    await processor.store(1)

    async def write_late() -> None:
        async with processor.database.transaction() as tx:
            read = await list_states(tx, [hash_of(1)])
            await processor.process({1: [request(namespace="maps")]})
            read[hash_of(1)].state.is_put = True
            await write_states(tx, read, [read[hash_of(1)].state])

    with pytest.raises(StateChanged):
        await write_late()
    assert await processor.rows("SELECT is_put FROM pictures") == [(False,)]


async def test_a_state_that_appeared_meanwhile_is_not_overwritten(processor: Processor) -> None:
    async def write_late() -> None:
        async with processor.database.transaction() as tx:
            read = await list_states(tx, [hash_of(1)])
            await processor.process({1: [request()]})
            await write_states(tx, read, [State("key-1", hash_of(1), is_put=True)])

    with pytest.raises(StateChanged):
        await write_late()
    assert await processor.rows("SELECT is_put FROM pictures") == [(False,)]
