"""Leases of reviews: one per reviewer and project, and no opinion without a lease."""

from __future__ import annotations

import asyncio

import grpc
import httpx
import pytest

from classifeed.cleanweb.v1.cleanweb_service_pb2 import ClaimReviewRequest, Review, SubmitOpinionRequest
from classifeed_common.http.api.request_limits import RequestRate
from classifeed_common.http.pages import guarding

from ..conftest import Cleanweb, Start
from .test_review_page import browser_of, open_text, send

COMMON = "common_toloka"
TEXTS = 30


async def add_texts(cleanweb: Cleanweb, count: int = TEXTS) -> None:
    for number in range(count):
        await cleanweb.process(f"lamp {number}", key=f"offer/s/n/{number}~00")


async def claim(cleanweb: Cleanweb, reviewer: str) -> Review:
    return await cleanweb.rpc.ClaimReview(ClaimReviewRequest(project=COMMON, reviewer=reviewer))


async def submit(cleanweb: Cleanweb, review_id: int, reviewer: str, *verdicts: str) -> bool:
    request = SubmitOpinionRequest(review_id=review_id, reviewer=reviewer, verdicts=verdicts)
    return bool((await cleanweb.rpc.SubmitOpinion(request)).ended)


async def held(cleanweb: Cleanweb) -> list[tuple[str, int]]:
    """Return the reviewers and the reviews that they hold now."""
    rows = await cleanweb.rows("SELECT leased_by, review_id FROM reviews WHERE leased_until > clock_timestamp()")
    return sorted((str(reviewer), int(review_id)) for reviewer, review_id in rows)


@pytest.fixture(autouse=True)
def without_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a reviewer open pages as fast as the test does."""
    monkeypatch.setattr(guarding, "_RATE", RequestRate(per_s=10_000, burst=10_000))


async def test_thirty_open_pages_hold_one_text(start: Start) -> None:
    cleanweb = await start()
    await add_texts(cleanweb)
    anna, ben = await browser_of(cleanweb, "anna"), await browser_of(cleanweb, "ben")
    for after in range(TEXTS):
        assert await open_text(anna, after=after) == (after + 1, f"lamp {after}")
    assert await held(cleanweb) == [("anna", TEXTS)]
    assert await open_text(ben) == (1, "lamp 0")
    await asyncio.gather(*(open_text(anna) for _ in range(8)))
    assert len([reviewer for reviewer, _ in await held(cleanweb) if reviewer == "anna"]) == 1
    await anna.aclose()
    await ben.aclose()


async def test_pages_that_are_opened_at_once_hold_one_text(start: Start) -> None:
    first, second = await start(), await start()
    await add_texts(first, 8)
    claims = await asyncio.gather(*(claim((first, second)[number % 2], "anna") for number in range(8)))
    assert len({review.review_id for review in claims}) == 1, "a lost reply loses no text"
    assert len(await held(first)) == 1


async def test_two_reviewers_share_thirty_texts(start: Start) -> None:
    cleanweb = await start()
    await add_texts(cleanweb)

    async def review_all(browser: httpx.AsyncClient) -> int:
        count = 0
        while (shown := await open_text(browser)) is not None:
            # A second page, whose response is lost: the reviewer still holds the text of the first page last.
            await open_text(browser, after=shown[0])
            response = await send(browser, shown[0])
            if response.status_code == 200:
                count += 1
        return count

    browsers = [await browser_of(cleanweb, name) for name in ("anna", "ben")]
    counts = await asyncio.gather(*map(review_all, browsers))
    # If one of them stopped early because the other held the last text, the remaining texts wait for them.
    counts = [count + await review_all(browser) for count, browser in zip(counts, browsers, strict=True)]
    assert counts == [TEXTS, TEXTS]
    assert await cleanweb.rows("SELECT count(*) FROM reviews WHERE ended_at IS NULL") == [(0,)]
    for browser in browsers:
        await browser.aclose()


async def test_an_opinion_needs_a_lease(start: Start) -> None:
    cleanweb = await start()
    await add_texts(cleanweb, 3)
    for reviewer in ("anna", "ben"):
        for review_id in (1, 2, 3):
            with pytest.raises(grpc.aio.AioRpcError, match="does not hold review"):
                await submit(cleanweb, review_id, reviewer)
    assert await cleanweb.rows("SELECT count(*) FROM opinions") == [(0,)]
    assert (await claim(cleanweb, "anna")).review_id == 1
    with pytest.raises(grpc.aio.AioRpcError, match="Another reviewer holds"):
        await submit(cleanweb, 1, "ben")
    with pytest.raises(grpc.aio.AioRpcError, match="does not hold review"):
        await submit(cleanweb, 2, "anna")
    assert await submit(cleanweb, 1, "anna") is False


async def test_the_last_holder_may_give_an_opinion_until_another_claims_the_text(start: Start) -> None:
    cleanweb = await start()
    await add_texts(cleanweb, 2)
    await claim(cleanweb, "anna")
    end = "UPDATE reviews SET leased_until = clock_timestamp() - interval '1 s' WHERE leased_by = %s RETURNING 1"
    await cleanweb.rows(end, "anna")
    assert await submit(cleanweb, 1, "anna") is False
    assert (await claim(cleanweb, "ben")).review_id == 1
    await cleanweb.rows(end, "ben")
    assert (await claim(cleanweb, "cleo")).review_id == 1
    await cleanweb.rows(end, "cleo")
    with pytest.raises(grpc.aio.AioRpcError, match="does not hold review"):
        await submit(cleanweb, 1, "ben")


async def test_a_second_opinion_of_a_reviewer_changes_nothing(start: Start) -> None:
    cleanweb = await start()
    await add_texts(cleanweb, 1)
    await claim(cleanweb, "anna")
    assert await submit(cleanweb, 1, "anna", "text_toloka_spam") is False
    await claim(cleanweb, "ben")
    assert await submit(cleanweb, 1, "anna", "text_toloka_ad") is False, "repeated while another reviewer holds it"
    assert await cleanweb.rows("SELECT reviewer, verdicts FROM opinions") == [("anna", ["text_toloka_spam"])]
    assert await submit(cleanweb, 1, "ben", "text_toloka_ad") is False
    assert await cleanweb.rows("SELECT verdicts FROM opinions ORDER BY given_at") == [
        (["text_toloka_spam"],),
        (["text_toloka_ad"],),
    ]


async def test_a_person_has_one_name_in_every_spelling(start: Start) -> None:
    cleanweb = await start()
    await add_texts(cleanweb, 1)
    await claim(cleanweb, "Anna")
    assert await submit(cleanweb, 1, " team:ANNA", "text_toloka_spam") is False
    for spelling in ("anna", "ANNA", "Team:anna", "ａｎｎａ"):
        with pytest.raises(grpc.aio.AioRpcError, match="No text of"):
            await claim(cleanweb, spelling)
        assert await submit(cleanweb, 1, spelling, "text_toloka_spam") is False
    for nobody in (" ", "team:"):
        with pytest.raises(grpc.aio.AioRpcError, match="must be the name of a person"):
            await claim(cleanweb, nobody)
    assert await cleanweb.rows("SELECT reviewer FROM opinions") == [("anna",)]


async def test_names_as_earlier_versions_stored_them_are_the_same_people(start: Start) -> None:
    cleanweb = await start()
    await add_texts(cleanweb, 2)
    await cleanweb.rows(
        "UPDATE reviews SET leased_by = 'team:anna', leased_until = clock_timestamp() + interval '1 h'"
        " WHERE review_id = 2 RETURNING 1"
    )
    assert (await claim(cleanweb, "anna")).review_id == 2
    await cleanweb.rows("INSERT INTO opinions VALUES (1, 'team:anna', '{}') RETURNING 1")
    assert await submit(cleanweb, 2, "anna") is False
    with pytest.raises(grpc.aio.AioRpcError, match="No text of"):
        await claim(cleanweb, "anna")
    await cleanweb.rows("UPDATE opinions SET reviewer = 'Anna' WHERE review_id = 1 RETURNING 1")
    assert (await claim(cleanweb, "anna")).review_id == 1
    assert await submit(cleanweb, 1, "anna") is False
    assert await cleanweb.rows("SELECT reviewer FROM opinions WHERE review_id = 1") == [("Anna",)]
