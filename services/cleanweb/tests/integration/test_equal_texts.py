"""Equal texts share their reviews: two opinions per project, a callback for every key, and no needless review."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

import httpx
import pytest

from classifeed_cleanweb.store import reviews
from classifeed_cleanweb.store.reviews import NewRequest
from classifeed_common.db import Database
from classifeed_devkit.testing.recovery import until

from ..conftest import Cleanweb, Inbox, Start, request_of
from .test_reviews import COMMON, OFFER, ROAD, TIMEOUT, claim, review_as

OPEN = "SELECT count(*) FROM reviews WHERE ended_at IS NULL"
TEXT = "A crash ahead"


async def close(cleanweb: Cleanweb, *keys: str, environment: str = "testing") -> list[dict[str, Any]]:
    """Report that keys need no verdict, as moderation does; return the JSON-RPC responses."""
    batch = [
        {
            "jsonrpc": "2.0",
            "method": "close",
            "params": {"service": "classifeed", "type": "text", "key": key, "body": {"environment": environment}},
            "id": number,
        }
        for number, key in enumerate(keys, 1)
    ]
    response = await cleanweb.post(json.dumps(batch if len(batch) > 1 else batch[0]).encode())
    assert response.status_code == 200, response.text
    found = response.json()
    return found if isinstance(found, list) else [found]


async def test_eight_equal_points_cost_two_opinions_a_project(start: Start, inbox: Inbox) -> None:
    first, second = await start(), await start()
    keys = [str(uuid4()) for _ in range(8)]
    responses = await asyncio.gather(
        *((first, second)[number % 2].process(TEXT, key=key) for number, key in enumerate(keys))
    )
    assert [response["result"] for response in responses] == [TIMEOUT] * 8
    assert await first.rows(OPEN) == [(2,)]
    for project, verdicts in ((COMMON, ()), (ROAD, ("road_accident",))):
        for reviewer in ("anna", "ben"):
            await review_as(first, reviewer, *verdicts, project=project)
    assert await first.rows("SELECT count(*) FROM opinions") == [(4,)]
    assert await first.rows(OPEN) == [(0,)]
    assert await first.rows("SELECT count(*) FROM requests WHERE ended_at IS NULL") == [(0,)]
    await until(lambda: len(inbox.received) == 8)
    assert sorted(inbox.keys) == sorted(keys)
    for _, body in inbox.received:
        assert [item["name"] for item in body["verdicts"]] == ["road_accident", "clean_web_moderation_end"]
        assert {tuple(item["reviewers"]) for item in body["verdicts"]} == {("anna", "ben")}


async def test_kinds_and_regions_share_nothing(start: Start) -> None:
    """Fails if texts of other projects join: nobody would review them for the road, or in Turkish."""
    cleanweb = await start()
    await cleanweb.process(TEXT, key=OFFER)
    await cleanweb.process(TEXT, key=str(uuid4()))
    await cleanweb.process(TEXT, key=str(uuid4()), regions=(1, 983))
    rows = await cleanweb.rows("SELECT request_id, count(*) FROM reviews GROUP BY request_id ORDER BY request_id")
    assert rows == [(1, 1), (2, 2), (3, 2)]
    for reviewer in ("anna", "ben"):
        await review_as(cleanweb, reviewer)
    assert await cleanweb.rows("SELECT key FROM requests WHERE ended_at IS NOT NULL") == [(OFFER,)]
    assert (await cleanweb.process(TEXT, key=str(uuid4())))["result"] == TIMEOUT, "kept for offers alone"


async def test_a_text_that_comes_as_its_review_ends_is_known(start: Start, inbox: Inbox) -> None:
    """A request waits for the end of the review of an equal text, and opens no further review."""
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    await review_as(cleanweb, "anna")
    keys = [f"offer/s/n/{number}~00" for number in range(6)]
    sending = [asyncio.create_task(cleanweb.process("A wooden lamp", key=key)) for key in keys]
    assert await review_as(cleanweb, "ben") is True
    results = [await sent for sent in sending]
    assert await cleanweb.rows(OPEN) == [(0,)]
    told = sum("verdicts" in found["result"] for found in results)
    await until(lambda: len(inbox.received) == 1 + len(keys) - told)


async def test_kept_reviews_age_out(start: Start) -> None:
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    for reviewer in ("anna", "ben"):
        await review_as(cleanweb, reviewer, "text_toloka_spam")
    kept = (await cleanweb.process("A wooden lamp", key="offer/s/n/2~00"))["result"]["verdicts"]
    assert kept[0]["reviewers"] == ["anna", "ben"], "neither may decide an appeal about the equal text"
    await cleanweb.rows("UPDATE kept_verdicts SET stored_at = stored_at - interval '30 days' RETURNING 1")
    assert (await cleanweb.process("A wooden lamp", key="offer/s/n/3~00"))["result"] == TIMEOUT
    assert await cleanweb.rows(OPEN) == [(1,)]


async def test_a_closed_text_is_shown_to_nobody_and_called_back_to_nobody(start: Start, inbox: Inbox) -> None:
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    await cleanweb.process("A wooden table", key="offer/s/n/2~00")
    review = await claim(cleanweb, "anna")
    assert [response["result"] for response in await close(cleanweb, OFFER)] == [{"closed": True}]
    assert [response["result"] for response in await close(cleanweb, OFFER, "unknown")] == [{"closed": False}] * 2
    assert await cleanweb.rows(OPEN) == [(1,)]
    assert (await claim(cleanweb, "anna")).text == "A wooden table"
    assert review.text == "A wooden lamp"
    for reviewer in ("anna", "ben"):
        await review_as(cleanweb, reviewer)
    await until(lambda: bool(inbox.received))
    assert inbox.keys == ["offer/s/n/2~00"]
    assert await cleanweb.rows("SELECT count(*) FROM kept_verdicts") == [(1,)]


async def test_a_review_continues_while_an_equal_text_needs_it(start: Start, inbox: Inbox) -> None:
    cleanweb = await start()
    keys = [f"offer/s/n/{number}~00" for number in range(3)]
    for key in keys:
        await cleanweb.process("A wooden lamp", key=key)
    await review_as(cleanweb, "anna")
    await close(cleanweb, keys[0])
    await close(cleanweb, keys[1], keys[1])
    assert await cleanweb.rows(OPEN) == [(1,)]
    assert await review_as(cleanweb, "ben") is True
    await until(lambda: bool(inbox.received))
    assert inbox.keys == [keys[2]]
    assert await cleanweb.rows("SELECT count(*) FROM callbacks") in ([(0,)], [(1,)])


async def test_a_service_closes_its_own_reviews_only(cleanweb_database: Database) -> None:
    request = NewRequest("shop", "stable", OFFER, "A lamp", b"hash", b"cache")
    async with cleanweb_database.transaction() as tx:
        await reviews.open_request(tx, request, [COMMON])
        for service, environment in (("shop", "testing"), ("other", "stable")):
            assert await reviews.withdraw_requests(tx, service, environment, [OFFER]) == set()
            # The same key also has a request about the same text in the other environment.
            await reviews.open_request(tx, request._replace(service=service, environment=environment), [COMMON])
            assert await reviews.withdraw_requests(tx, service, environment, [OFFER]) == {OFFER}
            found = await tx.execute("SELECT service, environment FROM requests WHERE ended_at IS NULL")
            assert await found.fetchall() == [("shop", "stable")]


async def test_reviews_of_equal_texts_from_an_earlier_version_end_together(start: Start, inbox: Inbox) -> None:
    """An earlier version opened reviews for each key."""
    cleanweb = await start()
    for number in range(2):
        await cleanweb.process("A wooden lamp", key=f"offer/s/n/{number}~00")
    await cleanweb.rows("INSERT INTO reviews (request_id, project) VALUES (2, %s) RETURNING 1", COMMON)
    for reviewer in ("anna", "ben"):
        await review_as(cleanweb, reviewer)
    assert await cleanweb.rows(OPEN) == [(0,)]
    await until(lambda: len(inbox.received) == 2)


@pytest.mark.parametrize("change", [{"method": "open"}, {"params": {}}, {"jsonrpc": "1.0"}])
async def test_wrong_closes_are_refused(start: Start, change: dict[str, Any]) -> None:
    cleanweb = await start()
    params = {"service": "classifeed", "type": "text", "key": "a", "body": {"environment": "testing"}}
    sent = {"jsonrpc": "2.0", "method": "close", "params": params, "id": 1} | change
    response: httpx.Response = await cleanweb.post(json.dumps(sent).encode())
    assert response.status_code == 400
    mixed = [request_of("lamp"), {**sent, "method": "close", "params": params, "jsonrpc": "2.0"}]
    assert (await cleanweb.post(json.dumps(mixed).encode())).status_code == 400
    [unknown] = await close(cleanweb, "a", environment="stable")
    assert unknown["error"]["code"] == -32602
