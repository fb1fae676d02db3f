"""The verdict service closes reviews that no text needs, even after lost and repeated calls."""

from __future__ import annotations

import json

import pytest

from classifeed.moderation.v1.offer_texts_pb2 import RemovedOffer, TextsToJudge
from classifeed_common.clock import FakeClock
from classifeed_devkit.testing.recovery import until
from classifeed_moderation.app.judging.close_reviews import ReviewCloser
from classifeed_moderation.app.points.comment_point import comment_point
from classifeed_moderation.app.points.remove_point import remove_point
from classifeed_moderation.domain.points import Author, AuthorRole
from classifeed_moderation.domain.subjects import Kind, Status

from ...conftest import CLEAN, PEOPLE, MakeModeration, Moderation
from ..decisions.test_verdicts import KEY, send, send_equal
from ..judging.test_taking import texts_of

CLOSED = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"closed": True}}).encode()
UNKNOWN_METHOD = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}).encode()


async def noted(moderation: Moderation) -> list[str]:
    return [key for (key,) in await moderation.rows("SELECT sent_key FROM closings ORDER BY sent_key")]


async def judge_all(moderation: Moderation) -> None:
    """Let the verdict service judge the texts in the queue."""
    moderation.start()
    await until(lambda: not moderation.queue._known)


def calls(moderation: Moderation) -> list[list[str]]:
    """Return the keys of each call of `close`."""
    found = [request.items for request in moderation.stand_in.requests]
    return [[item["params"]["key"] for item in items] for items in found if items[0]["method"] == "close"]


async def test_a_text_that_is_changed_while_it_waits_is_closed(moderation: Moderation) -> None:
    """It is unknown whether the verdict service has it: the response may be lost."""
    first = await send(moderation, "A lamp")
    assert await noted(moderation) == []
    await send(moderation, "A lamp", version=2)
    assert await noted(moderation) == [], "the same text"
    await send(moderation, "A table", version=2)
    assert await noted(moderation) == [first]
    await moderation.apply(KEY + "~" + (await moderation.subject(KEY)).text_hash.hex())
    await send(moderation, "A chair", version=3)
    assert await noted(moderation) == [first], "decided, and people never had it"


async def test_a_response_about_an_earlier_text_closes_its_review(moderation: Moderation) -> None:
    moderation.stand_in.content = PEOPLE
    moderation.stand_in.released.clear()
    first = await send(moderation, "A lamp")
    moderation.start()
    await moderation.stand_in.arrived.wait()
    await send(moderation, "A table", version=2)
    await moderation.rows("DELETE FROM closings RETURNING 1")  # the call arrived before the request
    moderation.stand_in.released.set()
    await until(lambda: not moderation.queue._known)
    assert await noted(moderation) == [first]


async def test_a_text_that_is_decided_otherwise_is_closed(moderation: Moderation) -> None:
    point = await moderation.create_point("decided at once")
    await judge_all(moderation)
    assert (await moderation.subject(point)).status is Status.APPROVED
    assert await noted(moderation) == []
    moderation.stand_in.content = PEOPLE
    key, other = await send(moderation, "A lamp"), await moderation.create_point("left")
    await until(lambda: not moderation.queue._known)
    assert await noted(moderation) == []
    await moderation.apply(key)
    await moderation.apply(other, "police")
    assert await noted(moderation) == sorted([key, str(other)])
    await moderation.rows("DELETE FROM closings RETURNING 1")
    await moderation.apply(other, "text_auto_obscene")
    assert await noted(moderation) == [], "people have it no more"


async def test_a_removed_point_is_closed_and_requested_no_more(moderation: Moderation) -> None:
    moderation.stand_in.content = PEOPLE
    removed, living = await moderation.create_point("one"), await moderation.create_point("two")
    author = Author("a", AuthorRole.USER)
    await comment_point(
        moderation.database, moderation.store_texts, point_id=removed, author=author, text="hm", request_id="1"
    )
    await remove_point(moderation.database, moderation.clock, point_id=removed)
    comment = next(key for key in await noted(moderation) if "/" in key)
    assert await noted(moderation) == [str(removed), comment]
    await moderation.rows("DELETE FROM closings RETURNING 1")
    await judge_all(moderation)  # they were in the queue
    assert await noted(moderation) == [str(removed), comment]
    await moderation.advance(3600)
    requested = len(moderation.stand_in.requests)
    for kind in (Kind.POINT, Kind.COMMENT):
        await moderation.corrector.round(kind)
    await until(lambda: not moderation.queue._known)
    assert [request.params["key"] for request in moderation.stand_in.requests[requested:]] == [str(living)]
    assert await moderation.corrector.backlog() == {"point_texts": 1}


def removal(version: int) -> TextsToJudge:
    removed = [RemovedOffer(external_id="1", content_version=version)]
    return TextsToJudge(seller_id="seller", namespace="default", removed=removed)


async def test_the_text_of_a_removed_offer_is_closed_and_requested_no_more(moderation: Moderation) -> None:
    """Unless the offer is back: requests and removals apply in the order of their versions, even in one transaction."""

    async def take(*sent: TextsToJudge) -> list[tuple[str, int]]:
        async with moderation.database.transaction() as tx:
            await moderation.take_offer_texts(tx, sent)
        return await moderation.rows("SELECT status, content_version FROM subjects")

    def text(version: int) -> TextsToJudge:
        return texts_of({"1": "A lamp"}, version=version)

    moderation.stand_in.content = PEOPLE
    assert await take(text(1)) == [("PENDING", 1)]
    assert await take(removal(2)) == []
    [closed] = await noted(moderation)
    await moderation.rows("DELETE FROM closings RETURNING 1")
    await judge_all(moderation)  # it was in the queue
    assert await noted(moderation) == [closed]
    await moderation.corrector.round(Kind.OFFER)
    assert not moderation.queue._known
    assert await take(text(3)) == [("PENDING", 3)]
    assert await take(removal(2)) == [("PENDING", 3)], "repeated"
    assert await take(text(5), removal(4)) == [("PENDING", 3)], "the newest is a request"
    assert await take(text(6), removal(7)) == []
    assert await take(text(8)) == [("PENDING", 8)]
    await moderation.apply(closed)
    assert await take(removal(9)) == [("APPROVED", 8)], "decided: no review is open"


async def test_keys_are_closed_in_batches_and_again_later(make_moderation: MakeModeration) -> None:
    """A repeated call finds the review of a late request, or a review that a restore brought back."""
    moderation = await make_moderation(batch=100)
    moderation.stand_in.content = CLOSED
    for version, title in enumerate(("A lamp", "A table", "A chair")):
        await send(moderation, title, version=version + 1)
    first, second = await noted(moderation)
    await moderation.closer.round()
    assert [sorted(keys) for keys in calls(moderation)] == [[first, second]]
    await moderation.closer.round()
    assert len(calls(moderation)) == 1
    ages = "SELECT extract(epoch FROM due_at - clock_timestamp())::float8 FROM closings"
    assert [pytest.approx(600, abs=60)] * 2 == [wait_s for (wait_s,) in await moderation.rows(ages)]
    past = "UPDATE closings SET noted_at = noted_at - interval '2 h', due_at = clock_timestamp() RETURNING 1"
    await moderation.rows(past)
    await moderation.closer.round()
    assert len(calls(moderation)) == 2
    assert [pytest.approx(7200, abs=60)] * 2 == [wait_s for (wait_s,) in await moderation.rows(ages)]


async def test_an_equal_text_that_waits_keeps_the_reviews(moderation: Moderation) -> None:
    moderation.stand_in.content = CLOSED
    first, equal = await send(moderation, "A lamp"), await send_equal(moderation)
    await send(moderation, "A table", version=2)
    await moderation.closer.round()
    assert calls(moderation) == []
    await moderation.apply(equal)
    await moderation.rows("UPDATE closings SET due_at = clock_timestamp() RETURNING 1")
    await moderation.closer.round()
    assert calls(moderation) == [[first]]
    await send(moderation, "A lamp", version=3)
    await moderation.rows("UPDATE closings SET due_at = clock_timestamp() RETURNING 1")
    await moderation.closer.round()
    assert [first] not in calls(moderation)[1:], "the text is back"


@pytest.mark.parametrize(
    ("status", "content", "pause_s"),
    [(200, UNKNOWN_METHOD, 3600.0), (503, CLOSED, 10.0), (200, b"{}", 10.0), (200, CLEAN[:-1], 10.0)],
)
async def test_a_call_that_fails_is_made_later(
    moderation: Moderation, status: int, content: bytes, pause_s: float
) -> None:
    clock = FakeClock()
    closer = ReviewCloser(moderation.database, moderation.service, clock, check_interval_s=10.0)
    moderation.stand_in.status, moderation.stand_in.content = status, content
    for version, title in enumerate(("A lamp", "A table", "A chair")):
        await send(moderation, title, version=version + 1)
    await closer.round()
    assert len(calls(moderation)) == 1
    await moderation.rows("UPDATE closings SET due_at = clock_timestamp() RETURNING 1")
    await clock.advance(pause_s - 1)
    await closer.round()
    assert len(calls(moderation)) == 1
    moderation.stand_in.status, moderation.stand_in.content = 200, CLOSED
    await clock.advance(2)
    await closer.round()
    assert len(calls(moderation)) == 3
