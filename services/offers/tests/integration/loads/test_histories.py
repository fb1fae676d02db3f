"""Random histories of loads against a simple model: crashes, reruns, zombies, duplicates, losses, sweeps in between.

After each poll and each step of a sweep, the table must match the model. A step of a sweep may only change offers that
a whole load lacks, while that load is the newest. The model reads from the table how far the step got.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from classifeed.feeds.v1.load_pb2 import (
    DISPOSITION_DELETE,
    DISPOSITION_MAKE_MANUAL,
    ISSUE_LEVEL_ERROR,
    LOAD_MODE_PATCH,
    LOAD_MODE_REPLACE,
    Disposition,
    LoadMode,
)
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_CONFIRM,
    HOLD_DECISION_REJECT,
    RECORD_KIND_DUPLICATE,
    RECORD_KIND_UNIDENTIFIED,
    HoldDecision,
    OfferBatch,
    OfferRecord,
    TaskEnd,
)
from classifeed.feeds.v1.offer_results_pb2 import BatchOutcome, OfferBatchResult, TaskEndOutcome, TaskEndResult
from classifeed_common.db import Database
from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_devkit.testing.databases import DatabaseServer
from classifeed_offers.domain.admission import RunKey

from ...conftest import Load, Owner, Records
from .naive_ways import NAIVE_WAYS

IDS = "abcdef"
EXAMPLES = 1000 if IS_LONG else 30
FEED_KINDS = ("good", "good", "good", "broken", "kept")
Space = tuple[str, str]
"""Seller and namespace."""
Key = tuple[str, str, int, int]
"""Seller, namespace, task and run."""
Request = OfferBatch | TaskEnd
Reply = tuple[Any, ...]
"""Outcome and counts, in the form of `spoken`."""

STALE: Reply = ("STALE", 0, 0, 0, 0, 0, [])


@dataclass(frozen=True)
class Row:
    status: str
    origin: str
    price: int
    task: int
    change: str
    writes: int


class Model:
    """Second implementation of the rules, one record at a time, with sets of external ids instead of arrays of ids."""

    def __init__(self) -> None:
        self.rows: dict[Space, dict[str, Row]] = {}
        self.heads: dict[Space, tuple[int, int]] = {}
        self.applied: dict[Key, dict[int, bytes]] = {}
        self.results: dict[tuple[Key, int], Reply] = {}
        self.ended: dict[Key, Reply | None] = {}
        self.seen: dict[Key, set[str]] = {}
        self.whole: dict[Key, Disposition] = {}
        self.planned: set[Key] = set()
        self.decisions: dict[Key, HoldDecision] = {}
        self.waiting: dict[Space, dict[str, tuple[Key, Row]]] = {}
        self.changed: dict[Key, int] = {}

    def take(self, message: Request) -> Reply | Callable[[], Reply | None] | None:
        space = (message.seller_id, message.namespace)
        run = (message.task_id, message.run)
        key = (*space, *run)
        self.rows.setdefault(space, {})
        if isinstance(message, OfferBatch):
            if (key, message.batch_id) in self.results:
                return self.results[key, message.batch_id]
            if run < self.heads.get(space, (0, 0)) or key in self.ended:
                return ("STALE", {})
            self.heads[space] = run
            self.applied.setdefault(key, {})[message.batch_id] = message.digest
            counts: dict[str, int] = {}
            for record in message.records:
                outcome = self.record(space, key, message, record)
                counts[outcome] = counts.get(outcome, 0) + 1
                old = self.rows[space].get(record.external_id)
                if outcome == "rejected_validation" and old is not None and old.status != "REMOVED":
                    counts["rejected_existing"] = counts.get("rejected_existing", 0) + 1
            self.results[key, message.batch_id] = ("APPLIED", counts)
            return ("APPLIED", counts)
        if key in self.ended:
            return partial(self.decide, key, message.decision)
        if run < self.heads.get(space, (0, 0)):
            return STALE
        self.heads[space] = run
        self.ended[key] = None  # during the sweep
        self.decisions[key] = message.decision
        missing = [n for n in range(1, message.batch_count + 1) if n not in self.applied.get(key, {})]
        if missing:
            self.ended[key] = ("INCOMPLETE", 0, 0, 0, 0, 0, missing)
            return self.ended[key]
        if message.mode == LOAD_MODE_PATCH:
            self.ended[key] = ("COMPLETED", 0, 0, 0, 0, 0, [])
            return self.ended[key]
        self.whole[key] = message.disposition
        return None

    def decide(self, key: Key, decision: HoldDecision) -> Reply | None:
        """Return the reply to a repeated end; the first decision counts, if it is in time."""
        result = self.ended[key]
        is_held = result is not None and result[0] == "HELD"
        if is_held and self.heads[key[:2]] != key[2:]:
            self.ended[key] = STALE
        elif decision and not self.decisions[key] and (is_held or (result is None and key not in self.planned)):
            self.decisions[key] = decision
            if is_held:
                self.ended[key] = self.rejected(key) if decision == HOLD_DECISION_REJECT else None
        return self.ended[key]

    def result_of_plan(self, key: Key) -> Reply | None:
        """Return the result of a plan: HELD if no offer was seen and one is lacking; six are below the other limit."""
        self.planned.add(key)
        lacking, decision = self.lacking(key), self.decisions[key]
        if decision == HOLD_DECISION_REJECT:
            return self.rejected(key)
        is_asked = not decision and self.whole[key] != DISPOSITION_MAKE_MANUAL
        return ("HELD", 0, 0, 0, 0, 0, []) if is_asked and lacking and not self.seen.get(key) else None

    def rejected(self, key: Key) -> Reply:
        """Return the result of a rejected load; the effects of sweeps of earlier runs stay."""
        return ("COMPLETED", *self.swept_counts(key), len(self.lacking(key)), 0, len(self.waiting_of(key)), [])

    def waiting_of(self, key: Key) -> dict[str, Row]:
        """Return the changes by a factor of 5 or more that wait for the end of the run."""
        waiting = self.waiting.get(key[:2], {})
        return {name: row for name, (run, row) in waiting.items() if run == key}

    def record(self, space: Space, key: Key, batch: OfferBatch, record: OfferRecord) -> str:
        if record.kind == RECORD_KIND_DUPLICATE:
            return "duplicates"
        if record.kind == RECORD_KIND_UNIDENTIFIED:
            return "rejected_validation"
        rows, name, task = self.rows[space], record.external_id, batch.task_id
        stored = rows.get(name)
        old = stored if stored is not None and stored.status != "REMOVED" else None
        seen = self.seen.setdefault(key, set())
        if old is not None:
            seen.add(name)
        if any(error.level == ISSUE_LEVEL_ERROR for error in record.errors):
            return "rejected_validation"
        patch = batch.mode == LOAD_MODE_PATCH
        if old is None and (patch or record.keep_existing):
            return "skipped"
        price = record.content.price.amount_micros // 1_000_000
        in_this_task = old is not None and old.task == task and old.change in ("ADDED", "UPDATED")
        if old is not None and (record.keep_existing or (old.price == price and (patch or old.origin == "FEED"))):
            return old.change.lower() if in_this_task else "unchanged"
        seen.add(name)
        change = "ADDED" if old is None or (in_this_task and old.change == "ADDED") else "UPDATED"
        origin = old.origin if old is not None and patch else "FEED"
        new = Row("ACTIVE", origin, price, task, change, stored.writes + 1 if stored else 1)
        if old is not None and not patch and old.origin == "FEED" and not 1 / 5 < price / old.price < 5:
            self.waiting.setdefault(space, {})[name] = (key, new)
            return "skipped"
        rows[name] = new
        return change.lower()

    def lacking(self, key: Key) -> set[str]:
        space = key[:2]
        if key not in self.whole or self.heads[space] != key[2:]:
            return set()
        rows = self.rows[space]
        return {
            name
            for name, row in rows.items()
            if row.origin == "FEED" and row.status != "REMOVED" and name not in self.seen.get(key, set())
        }

    def without(self, key: Key, row: Row) -> Row:
        if self.whole[key] == DISPOSITION_MAKE_MANUAL:
            return replace(row, origin="MANUAL", task=key[2], change="MADE_MANUAL", writes=row.writes + 1)
        return replace(row, status="REMOVED", task=key[2], change="REMOVED", writes=row.writes + 1)

    def swept_counts(self, key: Key) -> tuple[int, int]:
        of_task = [row for row in self.rows[key[:2]].values() if row.task == key[2]]
        return (
            sum(row.change == "REMOVED" and row.status == "REMOVED" for row in of_task),
            sum(row.change == "MADE_MANUAL" and row.origin == "MANUAL" for row in of_task),
        )


class Player:
    """Plays a history to the owner, and compares with the model after each step."""

    def __init__(self, owner: Owner, random: Random, seller: str, records: Records, new_load: type[Load]) -> None:
        self.owner, self.random, self.seller = owner, random, seller
        self.records, self.new_load = records, new_load
        self.model = Model()
        self.versions: dict[tuple[str, str, str], tuple[int, int]] = {}

    def file(self, mode: LoadMode) -> list[OfferRecord]:
        made = []
        for name in self.random.sample(IDS, self.random.randint(0, len(IDS))):
            kind = self.random.choice(FEED_KINDS)
            price = self.random.choice((1, 2, 10))
            if kind == "broken":
                made.append(self.records.broken(name))
            elif kind == "kept":
                made.append(self.records.kept(name))
            elif mode == LOAD_MODE_PATCH:
                made.append(self.records.patch(name, price))
            else:
                made.append(self.records.good(name, price=price))
        if made and self.random.random() < 0.2:
            made.append(self.records.duplicate(len(made) + 1))
            made.append(self.records.unidentified(len(made) + 1))
        return made

    def stream(self, seller: str, namespace: str) -> list[Request]:
        """Draw the messages of some tasks of a namespace, with faults of the delivery."""
        random = self.random
        sent: list[tuple[list[Request], list[Request]]] = []
        for task in range(1, random.randint(2, 4)):
            mode = LOAD_MODE_PATCH if random.random() < 0.15 else LOAD_MODE_REPLACE
            disposition = random.choice((DISPOSITION_DELETE, DISPOSITION_DELETE, DISPOSITION_MAKE_MANUAL))
            file = self.file(mode)
            for run in range(1, random.randint(2, 4)):
                load = self.new_load(
                    file,
                    task,
                    run,
                    seller,
                    namespace,
                    mode=mode,
                    disposition=disposition,
                    batch_size=random.randint(1, 3),
                )
                messages = load.messages
                while random.random() < 0.3:  # a decision, perhaps twice, perhaps before the load is held
                    messages.append(load.decided(random.choice((HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT))))
                if random.random() < 0.1:
                    messages[len(load.batches)] = messages[-1]
                fault = random.random()
                if fault < 0.25:  # the sender dies, and its last messages may arrive later, or never
                    cut = random.randrange(len(messages) + 1)
                    late = messages[cut:]
                    messages = messages[:cut]
                    sent.append((messages, late if random.random() < 0.5 else []))
                    continue
                if fault < 0.4 and len(messages) > 1:  # one batch is lost
                    messages = [*messages]
                    del messages[random.randrange(len(messages) - 1)]
                sent.append((messages, []))
        delivered: list[Request] = []
        waiting: list[Request] = []
        for messages, late in sent:
            for message in messages:
                while waiting and random.random() < 0.3:
                    delivered.append(waiting.pop(0))
                delivered.append(message)
                if random.random() < 0.1:
                    delivered.append(random.choice(delivered))
            waiting.extend(late)
        return [*delivered, *waiting]

    async def play(self) -> None:
        random = self.random
        spaces = [(self.seller, "default"), (self.seller, "cars"), (f"{self.seller}-b", "default")]
        spaces = spaces[: random.randint(1, 3)]
        streams = [self.stream(*space) for space in spaces]
        while any(streams):
            poll = []
            for _ in range(random.randint(1, 6)):
                stream = random.choice([stream for stream in streams if stream] or [[]])
                if stream:
                    poll.append(stream.pop(0))
            await self.poll(poll)
            while self.owner.sweeps and random.random() < 0.5:
                await self.step(random.choice(self.owner.sweeps))
        await self.finish()
        for space in spaces:
            await self.last_load(space)

    async def last_load(self, space: Space) -> None:
        """Add a whole load: after any history, its offers exist, and so do the manual ones."""
        manual = {
            name
            for name, row in self.model.rows.get(space, {}).items()
            if row.origin == "MANUAL" and row.status != "REMOVED"
        }
        names = self.random.sample(IDS, 4)
        load = self.new_load([self.records.good(name, price=3) for name in names], 99, 1, *space)
        await self.poll(load.messages)
        await self.finish()
        assert await self.owner.alive(load) == {*names, *manual}

    async def finish(self) -> None:
        while self.owner.sweeps:
            await self.step(self.owner.sweeps[0])

    async def poll(self, messages: list[Request]) -> None:
        replies = [self.model.take(message) for message in messages]
        # A newer run that has begun in the same poll overrides a decision.
        results = [reply() if callable(reply) else reply for reply in replies]
        expected = [result for result in results if result is not None]
        assert [spoken(reply) for reply in await self.owner.take(messages)] == expected
        for space in {(message.seller_id, message.namespace) for message in messages}:
            assert await self.table(space) == self.model.rows[space]

    async def step(self, run: RunKey) -> None:
        key = (*run.namespace, *run.run)
        space = key[:2]
        assert key in self.model.whole, "a load that is not whole is swept"
        lacking = self.model.lacking(key)
        rows = self.model.rows[space]
        is_newest = self.model.heads[space] == key[2:]
        ends_planned = self.model.result_of_plan(key) if is_newest and key not in self.model.planned else None
        step = await self.owner.step(run, slice_offers=2)
        table = await self.table(space)
        for name, changed in self.model.waiting_of(key).items():
            if replace(table[name], writes=0) == replace(changed, writes=0):
                rows[name] = changed
                del self.model.waiting[space][name]
                self.model.changed[key] = self.model.changed.get(key, 0) + 1
        for name in lacking:
            gone = self.model.without(key, rows[name])
            if replace(table[name], writes=0) == replace(gone, writes=0):
                rows[name] = gone
        assert await self.table(space) == rows
        if step.result is not None:
            if ends_planned is not None:
                assert self.model.lacking(key) == lacking
                self.model.ended[key] = ends_planned
            elif is_newest:
                assert self.model.lacking(key) == set()
                assert self.model.waiting_of(key) == {}
                changes = self.model.changed.get(key, 0)
                self.model.ended[key] = ("COMPLETED", *self.model.swept_counts(key), 0, changes, 0, [])
            else:
                self.model.ended[key] = STALE
            assert spoken(step.result) == self.model.ended[key]

    async def table(self, space: Space) -> dict[str, Row]:
        """Return the rows in the model's form; a version that falls, or rises without a write, has writes = -1."""
        load = self.new_load([], seller=space[0], namespace=space[1])
        found = {}
        for name, (status, origin, _, price, task, change, version) in (await self.owner.rows(load)).items():
            expected = self.model.rows[space].get(name)
            writes = expected.writes if expected else -1
            before_writes, before_version = self.versions.get((*space, name), (0, 0))
            honest = version == before_version if writes == before_writes else version > before_version
            if honest:
                self.versions[*space, name] = (writes, version)
            found[name] = Row(status, origin, price, task, change, writes if honest else -1)
        return found


def spoken(reply: OfferBatchResult | TaskEndResult) -> Reply:
    if isinstance(reply, OfferBatchResult):
        outcome = BatchOutcome.Name(reply.outcome).removeprefix("BATCH_OUTCOME_")
        return (outcome, {field.name: value for field, value in reply.counts.ListFields()})
    outcome = TaskEndOutcome.Name(reply.outcome).removeprefix("TASK_END_OUTCOME_")
    counts = (reply.removed, reply.made_manual, reply.kept, reply.changed, reply.dropped)
    return (outcome, *counts, list(reply.missing_batches))


Play = Callable[..., None]
"""Plays a number of histories; takes phases of hypothesis."""


@pytest.fixture
def play(
    database_server: DatabaseServer, records: Records, new_load: type[Load], new_owner: type[Owner]
) -> Iterator[Play]:
    """Play random histories; each has separate sellers in one database."""
    dsn = database_server.create_migrated("classifeed_offers", "offers")
    sellers = (f"seller{number}" for number in itertools.count())

    def check(examples: int, *phases: Phase) -> None:
        with asyncio.Runner() as runner:
            database = Database(dsn, schema="offers", application_name="histories")
            runner.run(database.open())

            @settings(
                max_examples=examples,
                deadline=None,
                derandomize=True,
                database=None,
                phases=phases,
                suppress_health_check=list(HealthCheck),
            )
            @given(st.randoms(use_true_random=False))
            def histories(random: Random) -> None:
                runner.run(Player(new_owner(database), random, next(sellers), records, new_load).play())

            try:
                histories()
            finally:
                runner.run(database.close())

    yield check
    database_server.drop(dsn)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_histories(play: Play) -> None:
    play(EXAMPLES, Phase.generate, Phase.shrink)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("naive", NAIVE_WAYS if IS_LONG else NAIVE_WAYS[:1])
def test_the_model_finds_the_naive_way(
    play: Play, monkeypatch: pytest.MonkeyPatch, naive: Callable[[pytest.MonkeyPatch], None]
) -> None:
    naive(monkeypatch)
    with pytest.raises(AssertionError):
        play(250, Phase.generate)
