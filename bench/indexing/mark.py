"""Time and CPU of advancing the publish mark of offers, 500 at a time, while writers change offers."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from bench.indexing.installation import Installation
from bench.processes import cpu_of_tree
from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.receiver_service_pb2 import PUSH_OUTCOME_ACK, PushResult
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Database, Tx
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import NEXT_VERSION, MarkPusher
from classifeed_domain.document_shards import SHARDS
from classifeed_domain.publishing import PushedDocuments
from classifeed_offers.app.publishing.publish_offers import PublishOffers
from classifeed_offers.app.publishing.republish_offers import Republisher
from classifeed_offers.domain.documents import DueOffer
from classifeed_offers.store import publishing
from classifeed_offers.store.republishing import Scope

_BATCH: Final = 500
_CHANGED: Final = 100
_WRITERS: Final = 2
_SELLERS: Final = 20
_FILL: Final = """
INSERT INTO offers (seller_id, namespace, external_id, content, content_hash, origin, status, last_task_id, last_change,
                    moderation, version)
SELECT 'seller' || n %% %(sellers)s, 'default', n::text, %(content)s, decode(md5(n::text), 'hex'), 'FEED', 'ACTIVE', 1,
       'ADDED', 'APPROVED', n
FROM generate_series(1, %(count)s) AS n
"""
# Each writer changes the offers with its remainder, so that writers do not wait for each other.
_CHANGE: Final = f"""
UPDATE offers SET version = {NEXT_VERSION}, updated_at = clock_timestamp()
WHERE offer_id IN (SELECT offer_id FROM offers WHERE offer_id > %(above)s AND offer_id %% %(writers)s = %(writer)s
                   ORDER BY offer_id LIMIT %(limit)s)
"""


class Advanced(NamedTuple):
    """Figures of advancing the mark.

    Attributes:
        batches: number of batches.
        steps_ms: median milliseconds of each step of the transaction; `commit` is the rest.
        total_ms: median milliseconds of the whole transaction.
        total_p99_ms: 99th percentile of the same, in milliseconds.
        postgres_ms: milliseconds of CPU of PostgreSQL a batch, with everything that it did meanwhile.
        offers_s: marked offers a second, without the time of their push.
        changed_s: offers that writers changed a second.
    """

    batches: int
    steps_ms: dict[str, float]
    total_ms: float
    total_p99_ms: float
    postgres_ms: float
    offers_s: float
    changed_s: float


class TimedDatabase(Database):
    """A database that records how long the statements and the commit of each transaction take."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn, schema="offers", application_name="bench", max_size=4)
        self.taken: list[dict[str, float]] = []

    @asynccontextmanager
    async def transaction(self, *, timeout_s: float | None = None) -> AsyncIterator[Tx]:
        """Open a transaction whose statements are timed."""
        steps: dict[str, float] = {}
        started = time.perf_counter()
        async with super().transaction(timeout_s=timeout_s) as tx:
            timed = _TimedTx(tx, steps)
            yield timed  # type: ignore[misc]
        steps["total"] = time.perf_counter() - started
        steps["commit"] = steps["total"] - sum(taken for name, taken in steps.items() if name != "total")
        self.taken.append(steps)


class _TimedTx:
    def __init__(self, tx: Tx, steps: dict[str, float]) -> None:
        self._tx = tx
        self._steps = steps

    async def execute(self, query: str, *arguments: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return await self._tx.execute(query, *arguments, **options)
        finally:
            step = _step_of(query)
            self._steps[step] = self._steps.get(step, 0.0) + time.perf_counter() - started


class AllTaken:
    """A receiver that acknowledges everything immediately."""

    def __init__(self) -> None:
        self._idx = 0

    async def push(
        self, documents: Sequence[RawDocument], known: Mapping[int, int], traces: Mapping[int, str]
    ) -> PushedDocuments:
        """Acknowledge all documents."""
        self._idx += len(documents)
        results = [PushResult(outcome=PUSH_OUTCOME_ACK) for _ in documents]
        return PushedDocuments(results, dict.fromkeys(range(SHARDS), self._idx))

    async def check_positions(self, known: Mapping[int, int]) -> dict[int, int]:
        """Return nothing."""
        return {}

    async def put_schema(self, schema: Schema) -> None:
        """Accept the schema."""


class NoJobs:
    """Starts no jobs."""

    async def start(self, tx: Tx, republication_id: int, scope: Scope) -> None:
        """Do nothing."""


async def measure_mark(installation: Installation, offers: int) -> dict[str, Advanced]:
    """Measure without writers and with two."""
    dsn = await asyncio.to_thread(installation.databases.create_migrated, "classifeed_offers", "offers")
    database = TimedDatabase(dsn)
    await database.open()
    try:
        content = OfferContent(title="Диван угловой", description="Из дуба, с ящиком для белья. " * 12, available=True)
        async with database.transaction() as tx:
            await tx.execute(_FILL, {"sellers": _SELLERS, "count": offers, "content": content.SerializeToString()})
        async with database.dedicated_connection() as connection:
            await connection.execute("VACUUM ANALYZE offers")
        postgres = int(installation.status["parts"]["postgres"]["pid"])
        return {
            "quiet": await _measure(database, postgres, offers, writers=0),
            f"{_WRITERS} writers": await _measure(database, postgres, offers, writers=_WRITERS),
        }
    finally:
        await database.close()


async def _measure(database: TimedDatabase, postgres: int, offers: int, *, writers: int) -> Advanced:
    async with database.connection() as connection:
        await connection.execute("UPDATE offers SET published_version = 0, version = version + 1")
        await connection.execute("VACUUM ANALYZE offers")
    leases = Leases(database, f"bench-{writers}", ttl_s=60)
    stop = asyncio.Event()
    changes = [0] * max(1, writers)

    async def restart(tx: Tx) -> None:
        await pusher.restart(tx)

    publish = PublishOffers(database, AllTaken(), Republisher(database, NoJobs(), restart))
    pushed = 0

    async def push(rows: Sequence[DueOffer]) -> Sequence[bool]:
        nonlocal pushed
        taken = await publish(rows)
        pushed += len(rows)
        if pushed >= offers:
            stop.set()
        return taken

    pusher = MarkPusher(
        database,
        name=f"bench-{writers}",
        select_due=publishing.SELECT_DUE,
        advance=publishing.ADVANCE,
        row_type=DueOffer,
        push=push,
        record=publish.record,
        leases=leases,
        batch=_BATCH,
    )
    writing = [asyncio.create_task(_write(database.dsn, writer, writers, changes, stop)) for writer in range(writers)]
    database.taken.clear()
    cpu, started = cpu_of_tree(postgres), time.perf_counter()
    await pusher.run(stop)
    took, used = time.perf_counter() - started, cpu_of_tree(postgres) - cpu
    await asyncio.gather(*writing)
    moves = [steps for steps in database.taken if "advance" in steps]
    total = sorted(steps["total"] * 1000 for steps in moves)
    return Advanced(
        len(moves),
        {step: statistics.median(steps.get(step, 0.0) for steps in moves) * 1000 for step in _STEPS},
        statistics.median(total),
        total[int(len(total) * 0.99)],
        used / len(moves) * 1000,
        pushed / took,
        sum(changes) / took,
    )


async def _write(dsn: str, writer: int, writers: int, changes: list[int], stop: asyncio.Event) -> None:
    """Change offers, 100 in a transaction, as loads do."""
    database = Database(dsn, schema="offers", application_name="writer", max_size=1)
    await database.open()
    above = 0
    while not stop.is_set():
        async with database.transaction() as tx:
            values = {"above": above, "writers": writers, "writer": writer, "limit": _CHANGED}
            changed = (await tx.execute(_CHANGE, values)).rowcount
        changes[writer] += changed
        above = above + _CHANGED * writers if changed else 0
    await database.close()


_STEPS: Final = ("guard", "advance", "positions", "accepted", "commit")


def _step_of(query: str) -> str:
    if query == publishing.ADVANCE:
        return "advance"
    if query == publishing.SQL["accept_documents"]:
        return "accepted"
    return "positions" if "published_positions" in query else "guard"
