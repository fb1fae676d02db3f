"""One damaged row is left out or rebuilt, counted and logged, and all others are served."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from classifeed.pictures.v1.orders_pb2 import DownloadOrder
from classifeed_common.db import Database
from classifeed_pictures.app.files.check_stored import check_stored
from classifeed_pictures.app.states.find_similar import list_alike
from classifeed_pictures.app.states.find_states import canonical_keys, find_states
from classifeed_pictures.domain.lifecycle.events import Look
from classifeed_pictures.domain.urls.canonical import CanonicalRules, url_hash
from classifeed_pictures.store.files.stored import find_stored
from classifeed_pictures.store.states.similar import fill_keys

from ..histories import Processor, hash_of, hours_ago, info, loaded, request
from ..samples import growth
from ..similar.gallery import Hung, hang_all

_DAMAGE = "UPDATE pictures SET holdings = '\\xffff', failure = '\\xff' WHERE url_hash = %s RETURNING 1"
_STORED = """
INSERT INTO stored_pictures (namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes, info,
                             pieces, stored_at)
VALUES ('offers', %s, %s, %s, %s, '', 1, 1, %s, '[]', now() - interval '2 days') RETURNING 1
"""
HASH = bytes.fromhex("f0f1f2f3f4f5f6f7")
RULES = CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": []})


@pytest.fixture
async def processor(migrated_database: Callable[[str], Awaitable[Database]]) -> Processor:
    """Yield a processor with three stored pictures, the second of which has a damaged state."""
    processor = Processor(await migrated_database("classifeed_pictures"))
    for number in (1, 2, 3):
        await processor.store(number)
        held = info(number)
        attempt = await processor.attempt(number)
        await processor.rows(_STORED, held.group_id, held.name, hash_of(number), attempt, held.SerializeToString())
    await processor.rows(_DAMAGE, hash_of(2))
    return processor


async def test_a_damaged_state_is_rebuilt_and_keeps_no_other_event_waiting(
    processor: Processor, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt = await processor.attempt(2)
    damaged = growth("damaged_rows_total", table="pictures")
    capsys.readouterr()
    await processor.process({number: [request("again")] for number in (1, 2, 3)})
    assert damaged() == 2, "its holdings and its failure"
    logged = [line for line in capsys.readouterr().out.splitlines() if "pictures.row.damaged" in line]
    assert len(logged) == 2
    assert all(hash_of(2).hex() in line for line in logged)
    results = await processor.results()
    attempts = {result.info.name: result.attempt for result in results}
    assert attempts.keys() == {info(number).name for number in (1, 2, 3)}
    assert attempts[info(2).name] == attempt
    damaged = growth("damaged_rows_total", table="pictures")
    await processor.process({2: [request("once more")]})
    [result] = await processor.results()
    assert (result.info.name, damaged()) == (info(2).name, 0)


async def test_what_waits_for_a_damaged_state_is_ordered_again(processor: Processor) -> None:
    await processor.process({4: [request()]})
    [first] = await processor.take(DownloadOrder)
    await processor.rows(_DAMAGE, hash_of(4))
    await processor.process({4: [Look(is_forced=False, at=hours_ago(0))]})
    [order] = await processor.take(DownloadOrder)
    assert order.attempt > first.attempt
    await processor.process({4: [loaded(info(4), order.attempt)]})
    [result] = await processor.results()
    assert result.info.name == info(4).name


async def test_all_states_of_a_request_are_read(processor: Processor) -> None:
    urls = ["https://shop.example/1.jpg", "https://shop.example/2.jpg"]
    for number, url in enumerate(urls, 1):
        await processor.rows(
            "UPDATE pictures SET url_hash = %s, url = %s WHERE url_hash = %s RETURNING 1",
            url_hash(url),
            url,
            hash_of(number),
        )
    async with processor.database.transaction() as tx:
        states = await find_states(tx, await canonical_keys(urls, RULES))
    assert [(state.known, state.put) for state in states] == [(True, False)] * 2


async def test_pictures_of_a_damaged_state_are_no_orphans(processor: Processor) -> None:
    async with processor.database.transaction() as tx:
        await check_stored(tx, None, limit=100)
    assert await processor.rows("SELECT count(*) FROM stored_pictures") == [(3,)]


async def test_a_damaged_stored_picture_is_left_out(migrated_database: Callable[[str], Awaitable[Database]]) -> None:
    database = await migrated_database("classifeed_pictures")
    gallery = [Hung(number, 1, "", "", HASH) for number in range(1, 6)]
    damaged = growth("damaged_rows_total", table="stored_pictures")
    await hang_all(database, gallery)
    async with database.transaction() as tx:
        await tx.execute(
            "UPDATE stored_pictures SET info = '\\xff' WHERE name = (SELECT min(name) FROM stored_pictures)"
        )
        cursor = await tx.execute("SELECT namespace, group_id, name FROM stored_pictures ORDER BY name LIMIT 1")
        [place] = await cursor.fetchall()
        sought = Hung(10**6, 1, "", "", HASH)
        found = await list_alike(tx, sought.info, sought.likeness, limit=10)
        assert len(found.rows) == 4
        assert damaged() == 1
        assert await find_stored(tx, *place) is None
        await tx.execute("UPDATE stored_pictures SET similarity_key = NULL")
        assert len(await fill_keys(tx, ("", 0, ""), 10)) == 5
        rows = await (await tx.execute("SELECT name FROM stored_pictures WHERE similarity_key IS NULL")).fetchall()
        assert rows == [(place[2],)]
