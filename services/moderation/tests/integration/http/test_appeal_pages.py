"""The pages on which reviewers decide appeals, over HTTP."""

from __future__ import annotations

import re

import httpx
import pytest

from classifeed.moderation.v1.moderation_service_pb2 import (
    APPEAL_STATE_GRANTED,
    APPEAL_STATE_REFUSED,
    AppealRequest,
    GetAppealRequest,
)
from classifeed_common.auth import ALL_OWNERS, KeyStore, create_team_token
from classifeed_domain.policy import POLICY

from ...conftest import verdict
from ..conftest import Service

pytestmark = pytest.mark.kafka
METHODS = tuple(f"ModerationService/{name}" for name in ("ListAppeals", "GetAppeal", "DecideAppeal"))
HOSTILE = "</blockquote><script>alert('$text')</script>"
REASON = "It is <b>a quotation</b>"


def token_of(keys: KeyStore, name: str, *methods: str) -> str:
    return create_team_token(keys.directory, name, methods or METHODS, 3600, owners=[ALL_OWNERS], policy=POLICY)[0]


async def browser_of(service: Service, name: str) -> httpx.AsyncClient:
    """Return a signed-in client."""
    browser = httpx.AsyncClient(base_url=service.http.base_url, trust_env=False)
    response = await browser.post("/appeals/sign-in", json={"token": token_of(service.keys, name)})
    assert response.status_code == 204, response.text
    return browser


async def decide(
    browser: httpx.AsyncClient, appeal_id: int, status: str, wrong: dict[str, object] | None = None
) -> httpx.Response:
    body = {"appeal_id": appeal_id, "status": status, "rule": "quotation", "response": "We read it again."}
    return await browser.post("/appeals/decisions", json=body | (wrong or {}))


async def appeal_of(service: Service, text: str, *reviewers: str) -> int:
    """Let reviewers of the verdict service refuse a point, and its author appeal; return the appeal's number."""
    key = (await service.create(text)).removeprefix("points/")
    found = {"name": "text_toloka_obscene", "entity": "text", "source": "people", "key": key}
    response = await service.call_back(
        {**found, "value": True, "reviewers": list(reviewers)}, {**verdict("clean_web_moderation_end"), "key": key}
    )
    assert response.status_code == 200, response.text
    appeal = await service.moderation.Appeal(AppealRequest(key=key, author_id="a", reason=REASON))
    return int(appeal.appeal_id)


async def test_reviewers_decide_appeals_on_pages(service: Service) -> None:
    first, second = await appeal_of(service, HOSTILE, "Anna", "ben"), await appeal_of(service, "another")

    for path in ("/appeals", f"/appeals/{first}", "/appeals/999"):
        response = await service.http.get(path)
        assert (response.status_code, 'id="sign-in"' in response.text) == (401, True)
    response = await service.http.post("/appeals/decisions", json={})
    assert (response.status_code, response.json()["reason"]) == (401, "TICKET_MISSING")
    for token, status in (
        ("nonsense", 400),
        (service.keys.issue("offers", "moderation"), 403),
        (token_of(service.keys, "cleo", "ModerationService/ListAppeals"), 403),
    ):
        response = await service.http.post("/appeals/sign-in", json={"token": token})
        assert (response.status_code, "set-cookie" in response.headers) == (status, False), response.text

    anna, cleo = await browser_of(service, "anna"), await browser_of(service, "cleo")
    shown = await cleo.get("/appeals")
    assert (shown.status_code, "<strong>cleo</strong>" in shown.text) == (200, True)
    assert re.findall(r'href="/appeals/(\d+)"', shown.text) == [str(first), str(second)]
    assert "It is &lt;b&gt;a quotation&lt;/b&gt;" in shown.text
    shown = await cleo.get(f"/appeals/{first}")
    assert "&lt;/blockquote&gt;&lt;script&gt;" in shown.text
    assert "text_toloka_obscene" in shown.text
    assert len(re.findall("<script", shown.text)) == 2, "those of the page"
    assert shown.headers["content-security-policy"].startswith("default-src 'self'; ")
    assert shown.headers["cache-control"] == "no-store"
    for address in re.findall(r'(?:href|src)="(/appeals/static/[^"]*)"', shown.text):
        assert (await cleo.get(address)).status_code == 200, address
    for path in ("/appeals/999", "/appeals/word", "/appeals/static/card.html", "/appeals?page=nonsense"):
        assert (await cleo.get(path)).status_code in (400, 404), path

    foreign = {"Origin": "http://elsewhere.example"}
    body = {"appeal_id": first, "status": "APPROVED", "rule": "quotation"}
    assert (await cleo.post("/appeals/decisions", json=body, headers=foreign)).status_code == 403
    refused = await decide(anna, first, "APPROVED")
    assert (refused.status_code, refused.json()["reason"]) == (403, "REVIEWER_DECIDED_BEFORE")
    wrongs: list[dict[str, object]] = [{"status": "PENDING"}, {"rule": ""}, {"response": "x" * 2001}, {"appeal_id": 0}]
    for wrong in wrongs:
        assert (await decide(cleo, first, "APPROVED", wrong)).status_code == 400, wrong
    assert (await decide(cleo, 999, "APPROVED")).status_code == 404

    made = await decide(cleo, first, "APPROVED")
    assert made.status_code == 200, made.text
    assert (await decide(cleo, first, "APPROVED")).json() == made.json(), "a repeated request"
    assert (await decide(anna, second, "DISAPPROVED")).status_code == 200
    late = await decide(cleo, second, "APPROVED")
    assert (late.status_code, late.json()["reason"]) == (412, "APPEAL_ENDED")
    assert "No appeal is open." in (await cleo.get("/appeals")).text

    for appeal_id, state in ((first, APPEAL_STATE_GRANTED), (second, APPEAL_STATE_REFUSED)):
        read = await service.moderation.GetAppeal(GetAppealRequest(appeal_id=appeal_id))
        assert (read.state, read.response.endswith("We read it again.")) == (state, True), read.response
        shown = await cleo.get(f"/appeals/{appeal_id}")
        assert ("We read it again." in shown.text, "<form" in shown.text) == (True, False)
    assert await service.rows("SELECT appeal_id, reviewer FROM appeals ORDER BY appeal_id") == [
        (first, "cleo"),
        (second, "anna"),
    ]
    assert (await cleo.post("/appeals/sign-out", json={})).status_code == 204
    assert (await cleo.get("/appeals")).status_code == 401
    for browser in (anna, cleo):
        await browser.aclose()
