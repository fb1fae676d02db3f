"""Callbacks: none is lost, and those of one key arrive in order, through outages, kills and give-ups."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from uuid import uuid4

import pytest

from classifeed.cleanweb.v1.cleanweb_service_pb2 import ListCallbacksRequest, ResendCallbacksRequest
from classifeed_cleanweb.app.claim_review import claim_review
from classifeed_cleanweb.app.submit_opinion import submit_opinion
from classifeed_cleanweb.clients.receivers import Receivers
from classifeed_cleanweb.jobs.callback import (
    GIVE_UP_S,
    TASK,
    CallbackArgs,
    end_unfinished,
    enqueue_callback,
    register_callback,
)
from classifeed_cleanweb.settings import Receiver
from classifeed_cleanweb.store import callbacks, reviews
from classifeed_cleanweb.store.reviews import NewRequest, Reviewed
from classifeed_common.auth import KeyStore
from classifeed_common.db import Database, Tx
from classifeed_common.errors import Unavailable
from classifeed_devkit.testing.recovery import until
from classifeed_jobs import FailedJob, JobStore, Registry
from classifeed_jobs.testing import lost_lease

from ..conftest import Inbox, Start

HOUR_S = 3600.0
WHO = ("classifeed", "testing")
KEY = "offer/seller/default/1"
RUN = """
import asyncio
from classifeed_cleanweb.bootstrap import build
from classifeed_cleanweb.settings import CleanwebSettings

async def main():
    await build(CleanwebSettings()).run(asyncio.Event())

asyncio.run(main())
"""


class Claim:
    """The part of a job that a delivery needs; the job is never lost here."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def guarded_transaction(self) -> AbstractAsyncContextManager[Tx]:
        return self._database.transaction()


class Courier:
    """Runs deliveries like the worker, one attempt at a time, on a clock that the test moves."""

    def __init__(self, database: Database, inbox: Inbox) -> None:
        self.database = database
        receiver = Receiver(url=f"http://127.0.0.1:{inbox.port}/callback", audience="moderation")
        self.receivers = Receivers({"/".join(WHO): receiver}, None)
        registry = Registry()
        register_callback(registry, database, self.receivers)
        self.task = registry[TASK]

    async def add(self, *verdicts: str, key: str = KEY, store: JobStore | None = None) -> int:
        async with self.database.transaction() as tx:
            callback_id = await callbacks.add_callback(tx, *WHO, key, Reviewed(tuple(verdicts), ("anna", "ben")))
            if store is not None:
                await enqueue_callback(store, tx, callback_id, *WHO, key)
        return callback_id

    async def deliver(self, callback_id: int) -> bool:
        """Run the job of a callback once; return whether it has ended."""
        try:
            await self.task.handler(Claim(self.database), CallbackArgs(callback_id=callback_id))
        except Unavailable:
            return False
        return True

    async def advance(self, duration_s: float) -> None:
        """Move the clock of the table: each callback has been retried for that much longer."""
        await self.rows("UPDATE callbacks SET sent_from = sent_from - %s * interval '1 s' RETURNING 1", duration_s)

    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()


@pytest.fixture
async def courier(cleanweb_database: Database, inbox: Inbox) -> AsyncIterator[Courier]:
    courier = Courier(cleanweb_database, inbox)
    yield courier
    await courier.receivers.close()


@pytest.mark.parametrize("status", [503, 404, 302])
async def test_a_callback_outlives_a_receiver_that_is_away_for_72_hours(
    courier: Courier, inbox: Inbox, status: int
) -> None:
    inbox.status = status
    callback_id = await courier.add("text_toloka_spam")
    assert courier.task.backoff.delay_s(10**6) <= 600
    for _ in range(71):
        await courier.advance(HOUR_S)
        assert await courier.deliver(callback_id) is False
    inbox.status = 200
    assert await courier.deliver(callback_id) is True
    assert [name for name, _ in inbox.received] == [f"callback-{callback_id}"]
    assert await courier.rows("SELECT count(*) FROM callbacks") == [(0,)]


async def test_after_72_hours_a_callback_is_given_up_and_listed_and_tried_no_more(
    courier: Courier, inbox: Inbox
) -> None:
    inbox.status = 503
    callback_id = await courier.add("text_toloka_spam")
    await courier.advance(GIVE_UP_S + 1)
    assert await courier.deliver(callback_id) is True
    tries = inbox.tries
    assert await courier.deliver(callback_id) is True
    assert inbox.tries == tries == 1
    [(given_up, fault)] = await courier.rows("SELECT given_up_at IS NOT NULL, fault FROM callbacks")
    assert given_up
    assert fault.endswith("HTTP 503")


async def test_a_callback_that_is_sent_again_has_its_whole_time_again(courier: Courier, inbox: Inbox) -> None:
    inbox.status = 503
    callback_id = await courier.add("text_toloka_spam")
    await courier.advance(GIVE_UP_S + 1)
    assert await courier.deliver(callback_id) is True
    async with courier.database.transaction() as tx:
        assert len(await callbacks.take_given_up(tx, callback_id)) == 1
    assert await courier.deliver(callback_id) is False, "it is tried again"
    assert await courier.rows("SELECT given_up_at FROM callbacks") == [(None,)]


async def test_a_verdict_never_comes_after_a_newer_one_of_its_key(courier: Courier, inbox: Inbox) -> None:
    inbox.status = 503
    first, second = await courier.add("text_toloka_spam"), await courier.add()
    other = await courier.add(key="another")
    for callback_id in (first, second, second):
        assert await courier.deliver(callback_id) is False
    inbox.status = 200
    assert await courier.deliver(other) is True
    assert await courier.deliver(second) is True
    assert await courier.deliver(first) is True, "it is delivered already"
    assert [name for name, _ in inbox.received] == [f"callback-{number}" for number in (other, first, second)]


async def test_what_was_given_up_goes_before_a_newer_one_and_does_not_hold_it_up(
    courier: Courier, inbox: Inbox
) -> None:
    inbox.status = 503
    first = await courier.add("text_toloka_spam")
    await courier.advance(GIVE_UP_S + 1)
    await courier.deliver(first)
    second = await courier.add()
    assert await courier.deliver(second) is False
    assert inbox.tried[-2:] == [f"callback-{first}", f"callback-{second}"]
    inbox.status = 200
    assert await courier.deliver(second) is True
    assert [name for name, _ in inbox.received] == [f"callback-{first}", f"callback-{second}"]
    assert await courier.rows("SELECT count(*) FROM callbacks") == [(0,)]


async def test_a_job_that_ends_for_another_cause_gives_its_callback_up(courier: Courier) -> None:
    callback_id = await courier.add("text_toloka_spam")
    job = FailedJob(uuid4(), "cleanweb.callbacks", TASK, 1, "canceled", "", "canceled by somebody", "")
    async with courier.database.transaction() as tx:
        await end_unfinished(tx, CallbackArgs(callback_id=callback_id), job)
    assert courier.task.on_failed is end_unfinished
    assert await courier.rows("SELECT given_up_at IS NOT NULL, fault FROM callbacks") == [
        (True, "canceled by somebody")
    ]


async def test_workers_keep_the_order_of_a_key(start: Start, courier: Courier, inbox: Inbox) -> None:
    inbox.status = 503
    numbers = [await courier.add(f"text_{number}", store=JobStore()) for number in range(3)]
    cleanweb = await start()
    await until(lambda: inbox.tries >= 5)
    inbox.status = 200
    await until(lambda: len(inbox.received) >= 3)
    assert [name for name, _ in inbox.received] == [f"callback-{number}" for number in numbers]

    async def are_forgotten() -> bool:
        return not (await cleanweb.rpc.ListCallbacks(ListCallbacksRequest())).callbacks

    await until(are_forgotten)


async def test_all_that_were_given_up_are_sent_again_by_one_command(
    start: Start, courier: Courier, inbox: Inbox
) -> None:
    numbers = [await courier.add(f"text_{number}", key=f"key {number}") for number in range(5)]
    await courier.rows("UPDATE callbacks SET given_up_at = now() RETURNING 1")
    cleanweb = await start()
    listed = await cleanweb.rpc.ListCallbacks(ListCallbacksRequest(given_up=True))
    assert [callback.callback_id for callback in listed.callbacks] == numbers
    assert (await cleanweb.rpc.ResendCallbacks(ResendCallbacksRequest())).callbacks == 5
    await until(lambda: len(inbox.received) == 5)


class KilledError(Exception):
    """The process dies here."""


async def test_killed_as_a_review_ends_it_has_not_ended_and_ends_again(courier: Courier) -> None:
    async with courier.database.transaction() as tx:
        request = NewRequest(*WHO, KEY, "a lamp", bytes(16), bytes(16))
        await reviews.open_request(tx, request, ("common_toloka",))
    [(review_id,)] = await courier.rows("SELECT review_id FROM reviews")
    store = JobStore()

    async def enqueue(tx: Tx, callback_id: int, service: str, environment: str, key: str) -> None:
        await enqueue_callback(store, tx, callback_id, service, environment, key)

    async def die(*_: Any) -> None:
        raise KilledError

    async def submit(by: str, enqueue: Callable[..., Awaitable[None]]) -> bool:
        await claim_review(courier.database, "common_toloka", by, lease_s=300)
        return await submit_opinion(courier.database, enqueue, review_id=review_id, reviewer=by, verdicts=(), cost=0)

    assert await submit("anna", enqueue) is False
    with pytest.raises(KilledError):
        await submit("ben", die)
    counts = "SELECT (SELECT count(*) FROM callbacks), (SELECT count(*) FROM dl_jobs), (SELECT count(*) FROM opinions)"
    assert await courier.rows(counts) == [(0, 0, 1)]
    assert await submit("ben", enqueue) is True
    assert await submit("ben", enqueue) is True, "it has ended"
    assert await courier.rows(counts) == [(1, 1, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["refused", "taken"])
async def test_killed_while_it_delivers_another_process_delivers_with_the_same_id(
    start: Start, courier: Courier, inbox: Inbox, keys: KeyStore, moment: str
) -> None:
    """SIGKILL after the receiver has refused a callback, or after it has accepted one and before the sender knows."""
    callback_id = await courier.add("text_toloka_spam", store=JobStore())
    if moment == "refused":
        inbox.status = 503
    inbox.released.clear()
    receivers = {"/".join(WHO): {"url": f"http://127.0.0.1:{inbox.port}/callback", "audience": "moderation"}}
    variables = {"DSN": courier.database.dsn, "KEYS_DIR": str(keys.directory), "RECEIVERS": json.dumps(receivers)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        RUN,
        env=os.environ | {f"CLASSIFEED_CLEANWEB_{name}": value for name, value in variables.items()},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await until(lambda: inbox.tries == 1 or process.returncode is not None)
    finally:
        process.kill()
        await process.wait()
    inbox.status = 200
    inbox.released.set()

    async def is_delivered() -> bool:
        return await courier.rows("SELECT count(*) FROM callbacks") == [(0,)]

    async with lost_lease(courier.database, process.pid):
        await start()
        await until(is_delivered)
    assert inbox.tried == [f"callback-{callback_id}"] * 2
