"""Each group of cleanweb's tables, and the whole database, is restored while texts are reviewed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

import grpc
import httpx
import psycopg
import pytest

from classifeed.cleanweb.v1.cleanweb_service_pb2 import ClaimReviewRequest, SubmitOpinionRequest
from classifeed_cleanweb import parts
from classifeed_cleanweb.store.tables import metadata
from classifeed_common.db import Database
from classifeed_devkit.testing.databases import DatabaseServer, TableBackup
from classifeed_devkit.testing.recovery import until

from ..conftest import Cleanweb, Inbox, Start

PROJECT: Final = "common_toloka"
TABLES: Final = frozenset(
    name.removeprefix("queue.")
    for name in metadata.tables
    if not name.endswith("_default")  # partitions are restored with their table
)
GROUPS: Final = {
    "requests, reviews, opinions": ("requests", "reviews", "opinions"),
    "reviews, opinions": ("reviews", "opinions"),
    "kept verdicts": ("kept_verdicts",),
    "callbacks": ("callbacks",),
    "leases": ("leases",),
    "jobs": tuple(sorted(name for name in TABLES if name.startswith("dl_"))),
}
WHOLE: Final = "the whole database"
T = TypeVar("T")


def test_each_table_belongs_to_a_group() -> None:
    assert {table for tables in GROUPS.values() for table in tables} == TABLES


async def insist(call: Callable[[], Awaitable[T]]) -> T:
    """Call until the database is available: copying and restoring it end all sessions."""
    while True:
        try:
            return await call()
        except (psycopg.OperationalError, grpc.aio.AioRpcError, httpx.HTTPStatusError):
            await asyncio.sleep(0.05)


class Texts:
    """A requester that requests each text until it knows its verdict, as moderation does."""

    def __init__(self, cleanweb: Cleanweb, inbox: Inbox) -> None:
        self._cleanweb = cleanweb
        self._inbox = inbox

    async def request(self, name: str) -> bool:
        """Request a text; return whether its verdicts are known."""
        response = await self._cleanweb.process(f"A lamp {name}", key=f"offer/s/n/{name}~00")
        return "verdicts" in response.get("result", {})

    def is_called_back(self, name: str) -> bool:
        return f"offer/s/n/{name}~00" in self._inbox.keys

    async def review(self, reviewer: str, most: int = 100) -> int:
        """Give opinions about up to `most` texts that wait for a reviewer; return their number."""
        for given in range(most):
            try:
                review = await self._cleanweb.rpc.ClaimReview(ClaimReviewRequest(project=PROJECT, reviewer=reviewer))
                await self._cleanweb.rpc.SubmitOpinion(
                    SubmitOpinionRequest(review_id=review.review_id, reviewer=reviewer)
                )
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.NOT_FOUND:
                    return given
                raise
        return most


@pytest.mark.parametrize("group", [*GROUPS, WHOLE])
async def test_each_text_gets_its_verdicts_and_nothing_is_left_over(
    start: Start,
    inbox: Inbox,
    cleanweb_database: Database,
    database_server: DatabaseServer,
    monkeypatch: pytest.MonkeyPatch,
    group: str,
) -> None:
    monkeypatch.setattr(parts, "_RESUMED_AFTER_S", 0.2)
    monkeypatch.setattr(parts, "_MEASURE_S", 0.2)
    cleanweb = await start()
    texts = Texts(cleanweb, inbox)
    await texts.request("half reviewed")
    assert await texts.review("anna") == 1
    backup = TableBackup(cleanweb_database, *GROUPS.get(group, ()))
    copy = database_server.back_up(cleanweb_database.dsn) if group == WHOLE else None
    if copy is None:
        await backup.take()
    await insist(lambda: texts.review("ben"))
    await until(lambda: texts.is_called_back("half reviewed"))
    inbox.status = 500
    await texts.request("undelivered")
    await texts.review("anna")
    await texts.review("ben")
    await until(lambda: inbox.tries > 1)
    await texts.request("open")
    if copy is not None:
        await asyncio.to_thread(database_server.restore, cleanweb_database.dsn, copy)
    else:
        await backup.restore()
    inbox.status = 200

    async def are_known() -> bool:
        names = ("half reviewed", "undelivered", "open")
        known = [await insist(partial(texts.request, name)) for name in names]
        for reviewer in ("anna", "ben", "cleo"):
            await insist(partial(texts.review, reviewer))
        return all(known)

    await until(are_known)

    async def is_nothing_left() -> bool:
        return await insist(lambda: cleanweb.rows("SELECT count(*) FROM callbacks")) == [(0,)]

    await until(is_nothing_left)
    assert texts.is_called_back("open")
