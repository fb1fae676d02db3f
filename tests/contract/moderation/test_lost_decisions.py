"""Offers and moderation over Kafka: decisions about texts of offers survive a restore of moderation's database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from classifeed.moderation.v1.moderation_service_pb2 import (
    AppealRequest,
    ApplyVerdictsRequest,
    DecideAppealRequest,
    KeyedVerdicts,
)
from classifeed.moderation.v1.moderation_service_pb2_grpc import ModerationServiceStub
from classifeed.moderation.v1.subject_pb2 import MODERATION_STATUS_APPROVED, Verdict
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.auth import KeyStore
from classifeed_common.db import Database
from classifeed_common.rpc.client import open_channel
from classifeed_common.runner import ServiceRunner
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.testing.databases import DatabaseServer, MigratedDatabase, TableBackup
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.topics import begin_at_ends
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, MODERATION_OUTCOMES, MODERATION_REQUESTS, PICTURES_RESULTS
from classifeed_moderation import bootstrap as moderation_bootstrap
from classifeed_moderation import parts
from classifeed_moderation.consumers.requests import GROUP as MODERATION_GROUP
from classifeed_moderation.domain.subjects import offer_key
from classifeed_moderation.parts.judging import build_judging
from classifeed_moderation.settings import ModerationSettings
from classifeed_offers import bootstrap as offers_bootstrap
from classifeed_offers.consumers.outcomes import GROUP as OUTCOMES_GROUP
from classifeed_offers.consumers.pictures import GROUP as PICTURES_GROUP
from classifeed_offers.consumers.requests import GROUP as REQUESTS_GROUP
from classifeed_offers.domain.moderation import hash_text
from classifeed_offers.parts import consuming
from classifeed_offers.settings import OffersSettings

NOBODY = "127.0.0.1:1"
DECIDED = {"kept": "APPROVED", "refused late": "DISAPPROVED", "new": "APPROVED", "granted": "APPROVED"}
ADD = """
INSERT INTO offers (seller_id, namespace, external_id, content, content_hash, origin, status, last_task_id, last_change,
                    moderation, version, text_hash, text_requested_at)
VALUES (%s, 'default', %s, %s, decode(md5(''), 'hex'), 'FEED', 'PENDING', 1, 'ADDED', 'moderation', 1, %s, '-infinity')
"""
SHOWN = {"ACTIVE": "APPROVED", "BANNED": "DISAPPROVED", "PENDING": "PENDING"}


@asynccontextmanager
async def running(runner: ServiceRunner) -> AsyncIterator[ServiceRunner]:
    stop = asyncio.Event()
    task = asyncio.create_task(runner.run(stop))
    try:
        await until(lambda: task.done() or bool(runner.grpc_address))
        assert not task.done()
        yield runner
    finally:
        stop.set()
        await task


@dataclass
class Both:
    """Running offers and moderation."""

    offers: Database
    moderation: Database
    rpc: ModerationServiceStub
    verdicts: ModerationServiceStub
    seller: str

    async def add(self, *external_ids: str) -> None:
        """Store offers with pending texts, and wait for the decisions."""
        async with self.offers.transaction() as tx:
            for external_id in external_ids:
                content = OfferContent(title=f"A lamp, {external_id}")
                await tx.execute(ADD, [self.seller, external_id, content.SerializeToString(), hash_text(content)])
        await until(partial(self.is_decided, *external_ids))

    async def is_decided(self, *external_ids: str) -> bool:
        statuses = await self.kept()
        return all(statuses[external_id] != "PENDING" for external_id in external_ids)

    async def kept(self) -> dict[str, str]:
        """Return the status of each text in offers."""
        rows = await self._read(self.offers, "SELECT external_id, status FROM offers")
        return {external_id: SHOWN[status] for external_id, status in rows}

    async def known(self) -> dict[str, str]:
        """Return the status of each text in moderation."""
        return dict(await self._read(self.moderation, "SELECT external_id, status FROM subjects WHERE seller_id = %s"))

    async def has(self, external_id: str, status: str) -> bool:
        return (await self.kept())[external_id] == status

    async def are_equal(self) -> bool:
        return await self.known() == await self.kept() == DECIDED

    async def refuse(self, external_id: str) -> None:
        """Send a late verdict about a text."""
        key = f"{self.key(external_id)}~{hash_text(OfferContent(title=f'A lamp, {external_id}')).hex()}"
        verdicts = [Verdict(name="text_auto_obscene", entity="text")]
        request = ApplyVerdictsRequest(texts=[KeyedVerdicts(key=key, verdicts=verdicts, has_end=True)])
        await self.verdicts.ApplyVerdicts(request)
        await until(partial(self.has, external_id, "DISAPPROVED"))

    async def appeal(self, external_id: str) -> int:
        request = AppealRequest(key=self.key(external_id), author_id=self.seller, reason="It is a lamp.")
        return (await self.rpc.Appeal(request)).appeal_id

    async def grant(self, external_id: str, appeal_id: int) -> None:
        await self.rpc.DecideAppeal(
            DecideAppealRequest(
                appeal_id=appeal_id, status=MODERATION_STATUS_APPROVED, reviewer="anna", rule="harmless"
            )
        )
        await until(partial(self.has, external_id, "APPROVED"))

    def key(self, external_id: str) -> str:
        return offer_key(self.seller, "default", external_id)

    async def _read(self, database: Database, query: str) -> list[tuple[Any, ...]]:
        async with database.connection() as connection:
            parameters = [self.seller] if "%s" in query else []
            return await (await connection.execute(query, parameters)).fetchall()


@pytest.fixture
async def both(
    migrated_database: MigratedDatabase, kafka: EmbeddedKafka, keys: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Both]:
    monkeypatch.setattr(consuming, "_REQUEST_AGAIN_S", 0.2)
    monkeypatch.setattr(consuming, "_CHECK_DECISIONS_S", 0.2)
    offers = await migrated_database("classifeed_offers", "offers", max_size=8)
    moderation = await migrated_database("classifeed_moderation")
    settings: dict[str, Any] = {"kafka_bootstrap": kafka.bootstrap, "keys_dir": keys.directory, "drain_notice_s": 0}
    offers_settings = OffersSettings(dsn=offers.dsn, receiver_address=NOBODY, pictures=False, **settings)
    monkeypatch.setattr(parts, "build_judging", partial(build_judging, check_interval_s=0.2))
    moderation_settings = ModerationSettings(dsn=moderation.dsn, fake_clean_web="on", **settings)
    await offers_bootstrap.prepare(offers_settings)
    await moderation_bootstrap.prepare(moderation_settings)
    for topic, group in (
        (FEEDS_OFFER_REQUESTS, REQUESTS_GROUP),
        (MODERATION_OUTCOMES, OUTCOMES_GROUP),
        (PICTURES_RESULTS, PICTURES_GROUP),
    ):
        await begin_at_ends(offers, kafka.bootstrap, group, topic)
    await begin_at_ends(moderation, kafka.bootstrap, MODERATION_GROUP, MODERATION_REQUESTS)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(offers_bootstrap.build(offers_settings)))
        runner = await stack.enter_async_context(running(moderation_bootstrap.build(moderation_settings)))

        def stub(caller: str) -> ModerationServiceStub:
            channel = open_channel(runner.grpc_address, caller=caller, audience="moderation", keys=keys)
            stack.push_async_callback(channel.close)
            return ModerationServiceStub(channel)

        yield Both(offers, moderation, stub("operator"), stub("cleanweb"), f"seller-{uuid4()}")


def passing(condition: Callable[[], Awaitable[bool]]) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        try:
            return await condition()
        except psycopg.OperationalError:  # connections end with the database
            return False

    return holds


@pytest.mark.kafka
@pytest.mark.parametrize("tables", [("subjects", "decisions"), ()], ids=["texts", "the whole database"])
async def test_decisions_that_a_restore_of_moderation_loses_are_there_again(
    both: Both, database_server: DatabaseServer, tables: tuple[str, ...]
) -> None:
    """Offers keeps a new text, a late verdict and an appeal, and moderation gets each back with its appeals."""
    await both.add("kept", "refused late", "granted")
    await both.refuse("granted")
    backup = TableBackup(both.moderation, *tables)
    copy = "" if tables else database_server.back_up(both.moderation.dsn)
    if tables:
        await backup.take()
    await until(passing(partial(both.has, "granted", "DISAPPROVED")))
    await both.refuse("refused late")
    await both.grant("granted", await both.appeal("granted"))
    await both.add("new")
    if tables:
        await backup.restore()
    else:
        await asyncio.to_thread(database_server.restore, both.moderation.dsn, copy)
    await until(passing(both.are_equal))
    assert await both.appeal("refused late") > 0
