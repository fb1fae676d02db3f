"""Decisions that a restore of moderation has lost: detected once, and sent to moderation with their texts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from classifeed.moderation.v1.offer_texts_pb2 import LostDecisions, OfferTextJudged, TextsJudged, TextsToJudge
from classifeed.moderation.v1.subject_pb2 import MODERATION_STATUS_APPROVED, MODERATION_STATUS_DISAPPROVED
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Database
from classifeed_common.kafka import Record
from classifeed_common.kafka.records import TYPE_HEADER
from classifeed_common.outbox import Outbox
from classifeed_devkit.testing.recovery import until
from classifeed_jobs import TERMINAL, JobStore, Registry, Worker
from classifeed_offers.app.texts.check_decisions import DecisionCheck
from classifeed_offers.app.texts.request_texts import TextRequester
from classifeed_offers.consumers.outcomes import OutcomeHandler
from classifeed_offers.domain.moderation import ByVerdicts, hash_text
from classifeed_offers.jobs.return_decisions import QUEUE, register_return, return_starter

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Outcomes:
    """Outcomes of moderation as offers receives them, and the messages and jobs that offers makes of them."""

    def __init__(self, database: Database) -> None:
        self.database, self.outbox, self.tasks = database, Outbox(), Registry()
        register_return(self.tasks, self.outbox, slice_offers=2)
        self.jobs = JobStore(tasks=self.tasks)
        self.handler = OutcomeHandler(self.outbox, start_return=return_starter(self.jobs))

    async def take(self, *messages: TextsJudged, partition: int = 0) -> None:
        records = [
            Record(
                "moderation.outcomes.v1",
                partition,
                0,
                message.seller_id.encode(),
                message.SerializeToString(),
                {TYPE_HEADER: message.DESCRIPTOR.full_name.encode()},
                0,
            )
            for message in messages
        ]
        async with self.database.transaction() as tx:
            await self.handler.handle(tx, records)

    async def decide(self, external_id: str, number: int, *, is_allowed: bool = True, partition: int = 0) -> None:
        """Receive the decision `number`, made `number` seconds after the beginning."""
        judged = OfferTextJudged(
            external_id=external_id,
            text_hash=hash_text(OfferContent(title=external_id)),
            status=MODERATION_STATUS_APPROVED if is_allowed else MODERATION_STATUS_DISAPPROVED,
            decide_time=BEGIN + timedelta(seconds=number),
            decision_id=number,
        )
        await self.take(TextsJudged(seller_id="seller", namespace="default", texts=[judged]), partition=partition)

    async def lose(self, number: int, *, kept: int) -> None:
        """Receive the report that decisions above `kept` are lost."""
        lost = LostDecisions(decision_id=number, kept_decision_id=kept, begin_time=BEGIN + timedelta(seconds=kept))
        await self.take(TextsJudged(seller_id="seller", namespace="default", lost=lost))

    async def sent(self) -> Sequence[TextsToJudge]:
        """Return the messages to moderation since the last call."""
        query = "DELETE FROM outbox WHERE topic = 'moderation.requests.v1' RETURNING id, value"
        async with self.database.connection() as connection:
            rows = await (await connection.execute(query)).fetchall()
        return [TextsToJudge.FromString(value) for _, value in sorted(rows)]

    async def count_jobs(self) -> int:
        async with self.database.connection() as connection:
            query = "SELECT count(*) FROM dl_jobs WHERE NOT status = ANY (%s)"
            row = await (await connection.execute(query, [sorted(TERMINAL)])).fetchone()
        assert row is not None
        return int(row[0])

    async def work(self) -> None:
        """Run the jobs until all have ended."""
        worker, stop = Worker(self.database, self.jobs, self.tasks, queues={QUEUE: 1}), asyncio.Event()
        running = asyncio.create_task(worker.run(stop))

        async def have_ended() -> bool:
            return await self.count_jobs() == 0

        try:
            await until(have_ended)
        finally:
            stop.set()
            await running


@pytest.fixture
async def outcomes(owner: Any, records: Any, new_load: Any) -> Outcomes:
    owner.moderation = ByVerdicts()
    await owner.take(new_load([records.good(name, name) for name in "abcde"], task=1).messages)
    return Outcomes(owner.database)


async def test_the_newest_decision_of_each_partition_is_asked_for(outcomes: Outcomes) -> None:
    check = DecisionCheck(outcomes.database, outcomes.outbox, period_s=0)
    await check.round()
    assert await outcomes.sent() == [], "nothing was decided"
    await outcomes.decide("b", 20)
    await outcomes.decide("a", 10)
    await outcomes.decide("c", 5, partition=3)
    await check.round()
    asked = await outcomes.sent()
    assert sorted(it.applied_decision_id for it in asked) == [5, 20]
    assert {(it.seller_id, it.namespace, len(it.texts)) for it in asked} == {("seller", "default", 0)}
    await DecisionCheck(outcomes.database, outcomes.outbox, period_s=600).round()
    assert await outcomes.sent() == [], "another process has asked"


async def test_a_loss_that_partitions_report_starts_one_job_and_an_old_report_none(outcomes: Outcomes) -> None:
    await outcomes.decide("a", 10)
    await outcomes.decide("b", 20, partition=3)
    await outcomes.lose(15, kept=3)
    assert await outcomes.count_jobs() == 0, "the topic is read again: the report is about an earlier loss"
    await outcomes.lose(20, kept=3)
    await outcomes.lose(10, kept=3)
    assert await outcomes.count_jobs() == 1
    await outcomes.decide("c", 30)
    await outcomes.lose(30, kept=3)
    assert await outcomes.count_jobs() == 2, "a decision that was under way during the restore is lost, too"


async def test_lost_decisions_are_sent_with_their_texts_and_lost_requests_again(outcomes: Outcomes) -> None:
    await outcomes.decide("a", 10)
    await outcomes.decide("b", 20)
    await outcomes.decide("c", 30, is_allowed=False)
    async with outcomes.database.connection() as connection:  # its removal was sent
        await connection.execute(
            "UPDATE offers SET status = 'REMOVED', text_requested_at = NULL WHERE external_id = 'e'"
        )
    await outcomes.sent()
    await outcomes.lose(30, kept=20)
    await outcomes.work()
    texts = [text for message in await outcomes.sent() for text in message.texts]
    found = {text.external_id: text.kept_decision for text in texts}
    assert {key: kept.status for key, kept in found.items()} == {
        "b": MODERATION_STATUS_APPROVED,
        "c": MODERATION_STATUS_DISAPPROVED,
    }
    assert found["c"].HasField("ban")
    assert found["b"].decide_time.ToDatetime(tzinfo=UTC) == BEGIN + timedelta(seconds=20)
    assert all(text.title == text.external_id and text.content_version > 10**15 for text in texts)
    await TextRequester(outcomes.database, outcomes.outbox, wait_s=900, period_s=60).round()
    requests = await outcomes.sent()
    [waiting] = [text for message in requests for text in message.texts]
    assert (waiting.external_id, waiting.HasField("kept_decision")) == ("d", False)
    assert [offer.external_id for message in requests for offer in message.removed] == ["e"]
