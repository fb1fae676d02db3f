"""Reviews by people, and their callbacks."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import grpc
import pytest

from classifeed.cleanweb.v1.cleanweb_service_pb2 import (
    ClaimReviewRequest,
    GetQueuesRequest,
    ListCallbacksRequest,
    ResendCallbacksRequest,
    Review,
    SubmitOpinionRequest,
)
from classifeed_cleanweb.domain.projects import TURKEY, agree, projects_of
from classifeed_cleanweb.store.cleaning import _SQL
from classifeed_devkit.testing.recovery import until

from ..conftest import Cleanweb, Inbox, Start, request_of

OFFER = "offer/seller/default/1~00"
COMMON, ROAD = "common_toloka", "custom_map_talks_toloka"
TIMEOUT = {"errors": {"clean-web": "timeout"}}


async def claim(cleanweb: Cleanweb, reviewer: str, project: str = COMMON) -> Review:
    return await cleanweb.rpc.ClaimReview(ClaimReviewRequest(project=project, reviewer=reviewer))


async def review_as(cleanweb: Cleanweb, reviewer: str, *verdicts: str, project: str = COMMON) -> bool:
    review = await claim(cleanweb, reviewer, project)
    request = SubmitOpinionRequest(review_id=review.review_id, reviewer=reviewer, verdicts=verdicts)
    return bool((await cleanweb.rpc.SubmitOpinion(request)).ended)


async def test_what_rules_find_is_told_at_once_with_its_place(start: Start) -> None:
    cleanweb = await start()
    response = await cleanweb.process("Call me: +7 912 345-67-89", key=OFFER)
    verdicts = response["result"]["verdicts"]
    assert [item["name"] for item in verdicts] == ["text_auto_contacts", "clean_web_moderation_end"]
    [span] = verdicts[0]["spans"]
    assert "Call me: +7 912 345-67-89"[span["start"] : span["end"]] == span["excerpt"]
    assert {item["key"] for item in verdicts} == {OFFER}
    assert {item["source"] for item in verdicts} == {"automatic"}


async def test_auto_pass_approves_what_nothing_is_found_in(start: Start) -> None:
    cleanweb = await start(auto_pass=True)
    response = await cleanweb.process("A wooden lamp, 40 cm high")
    assert [item["name"] for item in response["result"]["verdicts"]] == ["clean_web_moderation_end"]
    assert await cleanweb.rows("SELECT count(*) FROM requests") == [(0,)]


async def test_a_review_ends_with_two_that_agree_and_is_called_back(start: Start, inbox: Inbox) -> None:
    cleanweb = await start()
    assert (await cleanweb.process("A wooden lamp", key=OFFER))["result"] == TIMEOUT
    assert (await cleanweb.process("A wooden lamp", key=OFFER))["result"] == TIMEOUT  # joins
    assert await cleanweb.rows("SELECT count(*) FROM requests") == [(1,)]
    assert await review_as(cleanweb, "anna", "text_toloka_spam") is False
    assert await review_as(cleanweb, "ben", "text_toloka_spam") is True
    await until(lambda: bool(inbox.received))
    [(request_id, body)] = inbox.received
    assert request_id.startswith("callback-")
    assert [(item["name"], item["key"], item["value"]) for item in body["verdicts"]] == [
        ("text_toloka_spam", OFFER, True),
        ("clean_web_moderation_end", OFFER, True),
    ]
    assert {tuple(item["reviewers"]) for item in body["verdicts"]} == {("anna", "ben")}
    kept = await cleanweb.process("a  wooden LAMP", key="offer/another~00")
    assert kept["result"]["verdicts"][0]["reviewers"] == ["anna", "ben"]
    assert [item["name"] for item in kept["result"]["verdicts"]] == ["text_toloka_spam", "clean_web_moderation_end"]
    assert {item["source"] for item in kept["result"]["verdicts"]} == {"people"}


async def test_a_text_that_is_only_checked_opens_no_review(start: Start) -> None:
    cleanweb = await start()
    body = {"text": "A wooden lamp", "environment": "testing", "dry_run": True}
    assert (await cleanweb.process("", key="offer/check", body=body))["result"] == TIMEOUT
    assert await cleanweb.rows("SELECT count(*) FROM requests") == [(0,)]
    assert (await cleanweb.process("A wooden lamp", key=OFFER))["result"] == TIMEOUT
    assert await cleanweb.rows("SELECT count(*) FROM requests") == [(1,)]


async def test_nothing_is_sent_before_every_contour_has_ended(start: Start, inbox: Inbox) -> None:
    cleanweb = await start()
    key = str(uuid4())
    await cleanweb.process("A crash ahead", key=key)
    for reviewer in ("anna", "ben"):
        await review_as(cleanweb, reviewer)
    assert await cleanweb.rows("SELECT count(*) FROM callbacks") == [(0,)]
    for reviewer in ("anna", "ben"):
        await review_as(cleanweb, reviewer, "road_accident", project=ROAD)
    await until(lambda: bool(inbox.received))
    assert [item["name"] for item in inbox.received[0][1]["verdicts"]] == ["road_accident", "clean_web_moderation_end"]


async def test_a_third_one_decides_where_two_disagree(start: Start, inbox: Inbox) -> None:
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    assert await review_as(cleanweb, "anna", "text_toloka_spam", "text_toloka_ad") is False
    assert await review_as(cleanweb, "ben", "text_toloka_ad") is False
    assert await review_as(cleanweb, "cleo", "text_toloka_links") is True
    assert await cleanweb.rows("SELECT verdicts FROM reviews") == [(["text_toloka_ad"],)]


async def test_no_text_has_two_reviewers_and_a_lost_one_comes_back(start: Start) -> None:
    first, second = await start(), await start()
    for number in range(6):
        await first.process(f"lamp {number}", key=f"offer/s/n/{number}~00")
    claimed = await asyncio.gather(
        *(claim(cleanweb, f"reviewer {number}") for number, cleanweb in enumerate([first, second] * 3))
    )
    assert len({review.review_id for review in claimed}) == 6
    with pytest.raises(grpc.aio.AioRpcError, match="No text of"):
        await claim(second, "late")
    await first.rows(
        "UPDATE reviews SET leased_until = now() - interval '1 s' WHERE leased_by = 'reviewer 0' RETURNING 1"
    )
    again = await claim(second, "late")
    assert again.review_id == claimed[0].review_id
    late = SubmitOpinionRequest(review_id=again.review_id, reviewer="reviewer 0")
    with pytest.raises(grpc.aio.AioRpcError, match="Another reviewer holds"):
        await first.rpc.SubmitOpinion(late)
    [queue, *_] = (await first.rpc.GetQueues(GetQueuesRequest())).queues
    assert (queue.project, queue.waiting, queue.reviewers) == (COMMON, 6, 6)


async def test_a_reviewer_gets_a_text_once_and_only_verdicts_of_the_project_count(start: Start) -> None:
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    with pytest.raises(grpc.aio.AioRpcError, match="not a verdict of"):
        await review_as(cleanweb, "anna", "police")
    await review_as(cleanweb, "anna")
    with pytest.raises(grpc.aio.AioRpcError, match="No text of"):
        await claim(cleanweb, "anna")
    with pytest.raises(grpc.aio.AioRpcError, match="must be one of"):
        await claim(cleanweb, "anna", "nonsense")


async def test_a_callback_waits_for_its_receiver_and_goes_out_once(start: Start, inbox: Inbox) -> None:
    inbox.status = 503
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    for reviewer in ("anna", "ben"):
        await review_as(cleanweb, reviewer)
    await until(lambda: inbox.tries >= 2)
    [waiting] = (await cleanweb.rpc.ListCallbacks(ListCallbacksRequest())).callbacks
    assert (waiting.key, waiting.HasField("give_up_time")) == (OFFER, False)
    assert "HTTP 503" in waiting.fault
    inbox.status = 200
    await until(lambda: bool(inbox.received))

    async def is_forgotten() -> bool:
        return not (await cleanweb.rpc.ListCallbacks(ListCallbacksRequest())).callbacks

    await until(is_forgotten)
    assert inbox.keys == [OFFER]


async def test_after_72_hours_it_is_given_up_and_sent_again_by_a_call(start: Start, inbox: Inbox) -> None:
    inbox.status = 500
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    for reviewer in ("anna", "ben"):
        await review_as(cleanweb, reviewer)
    await until(lambda: inbox.tries >= 1)
    await cleanweb.rows("UPDATE callbacks SET sent_from = sent_from - interval '73 hours' RETURNING 1")

    async def given_up() -> list[object]:
        return list((await cleanweb.rpc.ListCallbacks(ListCallbacksRequest(given_up=True))).callbacks)

    async def is_given_up() -> bool:
        return len(await given_up()) == 1

    await until(is_given_up)
    inbox.status = 200
    assert (await cleanweb.rpc.ResendCallbacks(ResendCallbacksRequest())).callbacks == 1
    await until(lambda: bool(inbox.received))
    assert await given_up() == []


async def test_a_batch_gets_a_response_for_each_text(start: Start) -> None:
    cleanweb = await start()
    unknown: dict[str, Any] = {"body": {"text": "lamp", "environment": "stable", "regions": []}}
    batch = [
        request_of("Call me: +7 912 345-67-89", OFFER, number="first"),
        request_of("lamp", "offer/seller/default/2~00", number=7),
        request_of("lamp", number=7, **unknown),
        request_of("lamp", "offer/seller/default/2~00", number=3),
    ]
    response = await cleanweb.post(json.dumps(batch).encode())
    assert response.status_code == 200
    first, second, third, fourth = response.json()
    assert [item["id"] for item in response.json()] == ["first", 7, 7, 3]
    assert [item["name"] for item in first["result"]["verdicts"]] == ["text_auto_contacts", "clean_web_moderation_end"]
    assert second["result"] == fourth["result"] == TIMEOUT
    assert third["error"]["code"] == -32602
    assert await cleanweb.rows("SELECT count(*) FROM requests") == [(1,)], "the second one joined the first"


async def test_batches_and_what_is_wrong_in_them_are_refused(start: Start) -> None:
    cleanweb = await start()
    too_many = [request_of("lamp", number=number) for number in range(101)]
    wrong = [request_of("lamp"), request_of("lamp", type="picture")]
    for sent, where in (([], "batch"), (too_many, "batch"), (wrong, "batch[1].params.type"), (wrong[1], "params.type")):
        response = await cleanweb.post(json.dumps(sent).encode())
        assert response.status_code == 400
        assert response.json()["detail"].startswith(f"{where}: ")


async def test_batches_with_the_same_texts_do_not_lock_one_another_out(start: Start) -> None:
    cleanweb = await start()
    batch = [request_of(f"lamp {number}", f"offer/seller/default/{number}~00", number=number) for number in range(60)]
    sent = [json.dumps(batch[:: (-1) ** number]).encode() for number in range(8)]
    responses = await asyncio.gather(*(cleanweb.post(each) for each in sent))
    assert {response.status_code for response in responses} == {200}
    assert await cleanweb.rows("SELECT count(*) FROM requests") == [(60,)]


async def test_unknown_receivers_wrong_requests_and_callers_are_refused(start: Start) -> None:
    cleanweb = await start()
    body = {"text": "lamp", "environment": "stable", "regions": []}
    assert (await cleanweb.process("lamp", body=body))["error"]["code"] == -32602
    for content in (b"no JSON", b"{}", b'{"jsonrpc":"2.0","method":"other","params":{},"id":1}'):
        assert (await cleanweb.post(content)).status_code == 400
    assert (await cleanweb.post(b" " * (2 << 20) + b" ")).status_code == 413
    assert (await cleanweb.post(b"{}", token="")).status_code == 401
    assert (await cleanweb.post(b"{}", token=cleanweb.keys.issue("offers", "cleanweb"))).status_code == 403


async def test_old_requests_and_kept_verdicts_go(start: Start) -> None:
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    await cleanweb.process("A wooden table", key="offer/s/n/2~00")
    for reviewer in ("anna", "ben"):
        await review_as(cleanweb, reviewer)
    before = datetime.now(UTC) + timedelta(minutes=1)
    for statement in ("delete_requests", "delete_kept"):
        sql = _SQL[statement] + (" RETURNING 1" if "RETURNING" not in _SQL[statement] else "")
        deleted = sql.replace("%(before)s", "%s").replace("%(limit)s", "10")
        assert await cleanweb.rows(deleted, before) == [(1,)]
    assert await cleanweb.rows("SELECT text FROM requests") == [("A wooden table",)]
    assert await cleanweb.rows("SELECT count(*) FROM opinions") == [(0,)]


def test_projects_by_region_and_kind() -> None:
    assert projects_of("offer", (1, 225)) == (COMMON,)
    assert projects_of("point", (1, 225)) == (COMMON, ROAD)
    assert projects_of("comment", (1, TURKEY)) == ("common_tur_toloka", "custom_map_talks_tur_toloka_new")


def test_agreement() -> None:
    spam, ad, none = frozenset({"spam"}), frozenset({"ad"}), frozenset[str]()
    assert agree([spam]) is None
    assert agree([spam, ad]) is None
    assert agree([spam, spam]) == spam
    assert agree([none, none]) == none
    assert agree([spam, ad, spam]) == spam
    assert agree([spam, ad, none]) == none
    assert agree([spam | ad, ad, spam]) == spam | ad
