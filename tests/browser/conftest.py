"""Fixtures: browsers, and a verdict service whose pages they open."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from classifeed_cleanweb import parts
from classifeed_cleanweb.bootstrap import build
from classifeed_cleanweb.domain.review_terms import ReviewTerms
from classifeed_cleanweb.settings import CleanwebSettings, Receiver
from classifeed_common.auth import ALL_OWNERS, KeyStore, create_team_token
from classifeed_common.http.server import HttpServer, address_of, bind
from classifeed_devkit.testing.recovery import until
from classifeed_domain.policy import POLICY
from tests.browser.webdriver import Browsers, run_browsers
from tests.requirements import lacking


@pytest.fixture
async def browsers(tmp_path: Path) -> AsyncIterator[Browsers]:
    """Yield a factory of browsers; skip the test if the machine has no browser."""
    chromedriver, binary = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("google-chrome")
    if chromedriver is None or binary is None:
        lacking("chromium", "there are no chromium and chromedriver; Debian: apt-get install chromium chromium-driver")
        raise AssertionError("unreachable")
    async with run_browsers(chromedriver, binary, tmp_path) as running:
        yield running


@dataclass
class Reviews:
    """A running verdict service, and the verdicts of its callbacks."""

    address: str
    keys: KeyStore
    received: dict[str, list[str]] = field(default_factory=dict)

    async def add_text(self, text: str, number: int) -> str:
        """Submit the text of an offer, which goes to the reviewers; return its key."""
        key = f"offer/seller/default/{number}~00"
        body = {"text": text, "environment": "testing", "regions": [1, 225]}
        params = {"service": "classifeed", "type": "text", "key": key, "body": body}
        async with httpx.AsyncClient(base_url=self.address, trust_env=False) as http:
            response = await http.post(
                "/v2/",
                json={"jsonrpc": "2.0", "method": "process", "params": params, "id": number},
                headers={"X-Ya-Service-Ticket": self.keys.issue("moderation", "cleanweb")},
            )
        assert response.json()["result"] == {"errors": {"clean-web": "timeout"}}, response.text
        return key

    def token_of(self, name: str) -> str:
        """Return a token that allows a person to review."""
        methods = ("CleanwebService/ClaimReview", "CleanwebService/SubmitOpinion")
        return create_team_token(self.keys.directory, name, methods, 3600, owners=[ALL_OWNERS], policy=POLICY)[0]


StartReviews = Callable[..., Awaitable[Reviews]]


@pytest.fixture
async def start_reviews(
    migrated_database: Any, keys: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[StartReviews]:
    """Yield a factory: `await start_reviews(lease_s=8)`."""
    database = await migrated_database("classifeed_cleanweb")
    closing: list[Callable[[], Awaitable[None]]] = []

    async def make(*, lease_s: float) -> Reviews:
        monkeypatch.setattr(parts, "ReviewTerms", partial(ReviewTerms, lease_s=lease_s))
        listening = bind("127.0.0.1:0")
        received: dict[str, list[str]] = {}

        async def take(request: Request) -> Response:
            for verdict in json.loads(await request.body())["verdicts"]:
                received.setdefault(verdict["key"], []).append(verdict["name"])
            return Response()

        inbox = HttpServer(Starlette(routes=[Route("/callback", take, methods=["POST"])]), listening)
        await inbox.start()
        receiver = Receiver(url=f"http://{address_of(listening)}/callback", audience="moderation")
        runner = build(
            CleanwebSettings(
                dsn=database.dsn,
                keys_dir=keys.directory,
                receivers={"classifeed/testing": receiver},
                drain_notice_s=0,
            )
        )
        stop = asyncio.Event()
        running = asyncio.create_task(runner.run(stop))
        await until(lambda: running.done() or runner.is_ready)

        async def close() -> None:
            stop.set()
            await running
            await inbox.stop()

        closing.append(close)
        return Reviews(f"http://{runner.http_address}", keys, received)

    yield make
    for close in closing:
        await close()
