"""The pages of reviewers over HTTP."""

from __future__ import annotations

import html
import re
from importlib.resources import files

import grpc
import httpx
import pytest

from classifeed.cleanweb.v1.cleanweb_service_pb2 import ClaimReviewRequest, GetQueuesRequest
from classifeed.cleanweb.v1.cleanweb_service_pb2_grpc import CleanwebServiceStub
from classifeed_cleanweb.domain.choices import CHOICES
from classifeed_cleanweb.domain.projects import PROJECTS
from classifeed_cleanweb.http.reviews.fragments import duration
from classifeed_common.auth import ALL_OWNERS, create_team_token, revoke_team_token
from classifeed_domain.policy import POLICY

from ..conftest import Cleanweb, Start

OFFER = "offer/seller/default/1~00"
COMMON, ROAD = "common_toloka", "custom_map_talks_toloka"
METHODS = ("CleanwebService/ClaimReview", "CleanwebService/SubmitOpinion")


def token_of(cleanweb: Cleanweb, name: str, *methods: str) -> str:
    return create_team_token(
        cleanweb.keys.directory, name, methods or METHODS, 3600, owners=[ALL_OWNERS], policy=POLICY
    )[0]


async def sign_in(cleanweb: Cleanweb, token: str) -> httpx.Response:
    return await cleanweb.http.post("/reviews/sign-in", json={"token": token})


async def browser_of(cleanweb: Cleanweb, name: str) -> httpx.AsyncClient:
    """Return a signed-in client."""
    browser = httpx.AsyncClient(base_url=cleanweb.http.base_url, trust_env=False)
    assert (await browser.post("/reviews/sign-in", json={"token": token_of(cleanweb, name)})).status_code == 204
    return browser


async def open_text(browser: httpx.AsyncClient, project: str = COMMON, after: int = 0) -> tuple[int, str] | None:
    """Return the number and the text of the page; None: no text waits."""
    shown = (await browser.get(f"/reviews/{project}", params={"after": after})).text
    if "nothing-waits" in shown:
        return None
    [number] = re.findall(r'data-review="(\d+)"', shown)
    [text] = re.findall(r"<blockquote[^>]*>(.*?)</blockquote>", shown, re.DOTALL)
    return int(number), html.unescape(text)


async def send(browser: httpx.AsyncClient, review_id: int, *verdicts: str) -> httpx.Response:
    return await browser.post("/reviews/opinions", json={"review_id": review_id, "verdicts": verdicts})


async def test_without_a_token_there_is_the_form_and_nothing_else(start: Start) -> None:
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    for path in ("/reviews", f"/reviews/{COMMON}", f"/reviews/{COMMON}/instructions", "/reviews/nonsense"):
        response = await cleanweb.http.get(path)
        assert (response.status_code, 'id="sign-in"' in response.text) == (401, True)
        assert "lamp" not in response.text
    assert await cleanweb.rows("SELECT count(*) FROM reviews WHERE leased_by IS NOT NULL") == [(0,)]
    for path, content in (("opinions", {"review_id": 1, "verdicts": []}), ("given-back", {"review_id": 1})):
        response = await cleanweb.http.post(f"/reviews/{path}", json=content)
        assert (response.status_code, response.json()["reason"]) == (401, "TICKET_MISSING")


async def test_the_cookie_is_for_these_pages_and_no_script(start: Start) -> None:
    cleanweb = await start()
    response = await sign_in(cleanweb, f"  {token_of(cleanweb, 'anna')}\n")
    assert response.status_code == 204
    attributes = {part.strip().lower() for part in response.headers["set-cookie"].split(";")[1:]}
    assert attributes == {"httponly", "path=/reviews", "samesite=strict"}
    shown = await cleanweb.http.get("/reviews")
    assert (shown.status_code, "<strong>anna</strong>" in shown.text) == (200, True)
    encrypted = await cleanweb.http.post(
        "/reviews/sign-in", json={"token": token_of(cleanweb, "anna")}, headers={"X-Forwarded-Proto": "https"}
    )
    assert "Secure" in encrypted.headers["set-cookie"]
    assert (await cleanweb.http.post("/reviews/sign-out", json={})).status_code == 204
    assert (await cleanweb.http.get("/reviews")).status_code == 401


async def test_wrong_tokens_are_refused_and_withdrawn_ones_at_once(start: Start) -> None:
    cleanweb = await start()
    for token, status in (
        ("nonsense", 400),
        ("a.b.c; classifeed_reviewer=x.y.z", 400),
        ("a.b.c", 401),
        (token_of(cleanweb, "anna")[:-4] + "AAAA", 401),
        (cleanweb.keys.issue("operator", "moderation"), 401),
        (cleanweb.keys.issue("moderation", "cleanweb"), 403),
        (token_of(cleanweb, "anna", "CleanwebService/ClaimReview"), 403),
    ):
        response = await sign_in(cleanweb, token)
        assert response.status_code == status, response.text
        assert "set-cookie" not in response.headers
        if status == 400:
            assert "three parts with a dot between them" in response.json()["detail"]
            assert "a-z" not in response.text.lower(), "no regular expression"
    token, record = create_team_token(
        cleanweb.keys.directory, "anna", METHODS, 3600, owners=[ALL_OWNERS], policy=POLICY
    )
    assert (await sign_in(cleanweb, token)).status_code == 204
    revoke_team_token(cleanweb.keys.directory, record.token_id)
    response = await cleanweb.http.get("/reviews")
    assert (response.status_code, "revoked" in response.text) == (401, True)
    assert 'classifeed_reviewer=""' in response.headers["set-cookie"]


async def test_a_hostile_text_is_shown_as_text(start: Start) -> None:
    cleanweb = await start()
    hostile = "</blockquote><script>alert('$text')</script> <b onclick=x> &amp;"
    await cleanweb.process(hostile, key=OFFER)
    browser = await browser_of(cleanweb, "anna")
    response = await browser.get(f"/reviews/{COMMON}")
    assert "&lt;/blockquote&gt;&lt;script&gt;" in response.text
    assert re.findall(r"<script[^>]*>", response.text) == [
        f'<script src="/reviews/static/{name}.js" defer>' for name in ("pages", "reviews")
    ]
    assert await open_text(browser) == (1, hostile)
    assert response.headers["content-security-policy"].startswith("default-src 'self'; ")
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-store"
    await browser.aclose()


async def test_pages_need_nothing_from_elsewhere(start: Start) -> None:
    cleanweb = await start()
    browser = await browser_of(cleanweb, "anna")
    for path in ("/reviews", *(f"/reviews/{name}{page}" for name in PROJECTS for page in ("", "/instructions"))):
        shown = (await browser.get(path)).text
        assert not re.search(r"https?://|<style| on[a-z]+=| style=", shown), path
        for address in re.findall(r'(?:href|src)="(/reviews/static/[^"]*)"', shown):
            response = await browser.get(address)
            assert (response.status_code, response.headers["x-content-type-options"]) == (200, "nosniff")
    assert (await browser.get("/reviews/static/layout.html")).status_code == 404
    assert (await browser.get("/reviews/static/..%2f..%2fpages.py")).status_code == 404
    assert (await browser.get("/reviews/nonsense")).status_code == 404
    await browser.aclose()


async def test_other_sites_can_send_nothing(start: Start) -> None:
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    browser = await browser_of(cleanweb, "anna")
    assert await open_text(browser) == (1, "A wooden lamp")
    opinion = {"review_id": 1, "verdicts": []}
    for path in ("opinions", "given-back", "sign-in", "sign-out"):
        foreign = {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}
        for headers in foreign:
            response = await browser.post(f"/reviews/{path}", json=opinion, headers=headers)
            assert (response.status_code, response.json()["reason"]) == (403, "ORIGIN_NOT_ALLOWED")
        response = await browser.post(f"/reviews/{path}", data={"review_id": "1"})
        assert (response.status_code, response.json()["reason"]) == (415, "CONTENT_TYPE_NOT_JSON")
    assert await cleanweb.rows("SELECT leased_by FROM reviews") == [("anna",)]
    assert await cleanweb.rows("SELECT count(*) FROM opinions") == [(0,)]
    await browser.aclose()


async def test_a_text_is_with_one_reviewer_until_it_is_given_back(start: Start) -> None:
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    await cleanweb.process("A wooden table", key="offer/seller/default/2~00")
    anna, ben = await browser_of(cleanweb, "anna"), await browser_of(cleanweb, "ben")
    assert await open_text(anna) == await open_text(anna) == (1, "A wooden lamp")
    assert await open_text(ben) == (2, "A wooden table")
    for browser, expected in ((ben, False), (anna, True), (anna, False)):
        response = await browser.post("/reviews/given-back", json={"review_id": 1})
        assert response.json() == {"given_back": expected}
    assert await open_text(anna, after=1) is None, "skipped, and the other one is with ben"
    assert await open_text(ben) == (2, "A wooden table"), "ben still holds it"
    refused = await send(anna, 1)
    assert (refused.status_code, refused.json()["reason"]) == (412, "REVIEW_NOT_CLAIMED")
    assert (await ben.post("/reviews/given-back", json={"review_id": 2})).json() == {"given_back": True}
    assert await open_text(ben) == (1, "A wooden lamp")
    refused = await send(anna, 1)
    assert (refused.status_code, refused.json()["reason"]) == (412, "REVIEW_LEASED")
    await anna.aclose()
    await ben.aclose()


async def test_two_that_agree_are_two_people(start: Start) -> None:
    cleanweb = await start()
    await cleanweb.process("A wooden lamp", key=OFFER)
    anna, again = await browser_of(cleanweb, "anna"), await browser_of(cleanweb, "anna")
    assert await open_text(anna) == await open_text(again)
    assert (await send(anna, 1, "text_toloka_spam")).json() == {"ended": False}
    assert (await send(again, 1, "text_toloka_spam")).json() == {"ended": False}
    assert await open_text(again) is None
    assert await cleanweb.rows("SELECT reviewer FROM opinions") == [("anna",)]
    metadata = (("authorization", f"Bearer {token_of(cleanweb, 'anna')}"),)
    async with grpc.aio.insecure_channel(cleanweb.grpc_address) as channel:
        claim = CleanwebServiceStub(channel).ClaimReview
        with pytest.raises(grpc.aio.AioRpcError, match="reviews as team:anna only"):
            await claim(ClaimReviewRequest(project=COMMON, reviewer="ben"), metadata=metadata)
    ben = await browser_of(cleanweb, "ben")
    assert await open_text(ben) is not None
    assert (await send(ben, 1, "police")).json()["reason"] == "VERDICT_UNKNOWN"
    assert (await send(ben, 1, "text_toloka_spam")).json() == {"ended": True}
    for browser in (anna, again, ben):
        await browser.aclose()


async def test_the_list_says_what_is_late_and_what_opinions_cost(start: Start) -> None:
    cleanweb = await start(review_deadline_s=3600, opinion_cost=0.25)
    for number in range(3):
        await cleanweb.process(f"lamp {number}", key=f"offer/s/n/{number}~00")
    await cleanweb.rows("UPDATE reviews SET opened_at = now() - interval '2 h 5 min' WHERE review_id < 3 RETURNING 1")
    browser = await browser_of(cleanweb, "anna")
    before = (await browser.get("/reviews")).text
    assert all(project.title in before for project in PROJECTS.values())
    assert ("2 late" in before, "2 h 5 min" in before, "No opinions yet." in before) == (True, True, True)
    for _ in range(2):
        shown = await open_text(browser)
        assert shown is not None
        await send(browser, shown[0])
    after = (await browser.get("/reviews")).text
    assert '<td class="number">2</td><td class="number">0.50</td>' in after
    found = await cleanweb.rpc.GetQueues(GetQueuesRequest())
    assert next((queue.project, queue.waiting, queue.late) for queue in found.queues) == (COMMON, 3, 2)
    [day] = found.days
    assert (day.project, day.opinions, day.cost) == (COMMON, 2, 0.5)
    metrics = (await cleanweb.http.get("/metrics")).text
    assert f'classifeed_cleanweb_opinions_cost_total{{project="{COMMON}"}}' in metrics
    await browser.aclose()


def test_each_project_has_its_instructions_and_each_verdict_its_words() -> None:
    folder = files("classifeed_cleanweb.http.reviews").joinpath("instructions")
    texts = {name: folder.joinpath(f"{name}.html").read_text("utf-8") for name in PROJECTS}
    assert len(set(texts.values())) == 4
    for name, project in PROJECTS.items():
        assert "<h2>Examples</h2>" in texts[name]
        for verdict in project.choices:
            assert CHOICES[verdict].label in texts[name], (name, verdict)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59, "59 s"), (3600, "1 h"), (3661, "1 h 1 min"), (90061, "1 d 1 h"), (86400, "1 d")],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words
