"""Effects of a load belong to its trace: results, sweeps, and the pushed documents."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed_common.db import fetch_as
from classifeed_common.kafka import Record, message_of
from classifeed_common.kafka.traces import processing
from classifeed_common.outbox import Outbox
from classifeed_common.telemetry.tracing import context_of, trace_ids
from classifeed_domain.publishing import PushedDocuments
from classifeed_offers.consumers.requests import RequestHandler
from classifeed_offers.domain.documents import DueOffer
from classifeed_offers.domain.moderation import ApprovedBySetting
from classifeed_offers.store import publishing

from ..conftest import Load, NewPublishing, Owner, Records

TRACES = {"a": "1" * 32, "b": "2" * 32}
SPAN = "b7ad6b7169203331"


def sent(seller: str, request: Any) -> Record:
    """Return a request as the processor sends it, in the trace of the seller's load."""
    context = context_of({"traceparent": f"00-{TRACES[seller]}-{SPAN}-01"})
    message = message_of("requests", seller.encode(), request, trace=context)
    return Record(message.topic, 0, 0, message.key, message.value, message.headers, 0)


class Sweeps:
    """Records the trace in which a sweep is requested."""

    def __init__(self) -> None:
        self.traces: list[str] = []

    async def start(self, tx: Any, run: Any) -> None:
        ids = trace_ids()
        assert ids is not None
        self.traces.append(ids[0])


class Documents:
    """Accepts nothing; records the trace of its calls, and the documents that carry one."""

    def __init__(self) -> None:
        self.calls: list[str | None] = []
        self.carried: list[dict[str, str]] = []

    async def push(self, documents: Any, known: Any, traces: Any) -> PushedDocuments:
        ids = trace_ids()
        self.calls.append(ids[0] if ids else None)
        self.carried.append({documents[at].pk: traceparent[3:35] for at, traceparent in traces.items()})
        raise ConnectionError("away")

    async def check_positions(self, known: Any) -> dict[int, int]:
        return {}


@pytest.fixture
async def sweeps(owner: Owner, records: Records, new_load: type[Load]) -> Sweeps:
    """Return the sweeps after a poll with a load of each of two sellers."""
    sweeps = Sweeps()
    handler = RequestHandler(outbox=Outbox(), moderation=ApprovedBySetting(), sweeps=sweeps, guard=owner.guard)
    loads = {seller: new_load([records.good("1"), records.good("2")], seller=seller) for seller in TRACES}
    poll = [sent(seller, request) for seller, load in loads.items() for request in load.messages]
    with processing("offers", poll):
        async with owner.database.transaction() as tx:
            await handler.handle(tx, poll)
    return sweeps


async def test_results_and_sweeps_of_a_poll_belong_to_the_traces_of_their_loads(owner: Owner, sweeps: Sweeps) -> None:
    async with owner.database.connection() as connection:
        cursor = await connection.execute("SELECT key, headers FROM outbox ORDER BY id")
        results = [(bytes(key).decode(), headers["traceparent"][3:35]) for key, headers in await cursor.fetchall()]
    assert results == list(TRACES.items()), "a batch each; the ends follow from sweeps"
    assert sweeps.traces == list(TRACES.values())


async def push(owner: Owner, new_publishing: NewPublishing, documents: Documents, rows: list[Any]) -> None:
    publish_offers = new_publishing(documents).publish_offers
    with pytest.raises(ConnectionError):
        await publish_offers(rows)


async def due(owner: Owner) -> list[DueOffer]:
    async with owner.database.transaction() as tx:
        return await fetch_as(tx, DueOffer, publishing.SELECT_DUE, {"limit": 500, "above": 0})


async def test_of_a_push_one_document_of_each_load_takes_its_trace_along(
    owner: Owner, sweeps: Sweeps, new_publishing: NewPublishing
) -> None:
    documents = Documents()
    await push(owner, new_publishing, documents, await due(owner))
    assert documents.carried == [{f"{seller}/default/1": trace for seller, trace in TRACES.items()}]
    assert documents.calls == [TRACES["a"]], "a call is in one trace"


async def test_of_many_pushes_of_a_load_fewer_and_fewer_are_seen(
    owner: Owner, sweeps: Sweeps, new_publishing: NewPublishing
) -> None:
    documents = Documents()
    publish_offers = new_publishing(documents).publish_offers
    rows = await due(owner)
    for _ in range(21):
        with pytest.raises(ConnectionError):
            await publish_offers(rows)
    seen = [number for number, carried in enumerate(documents.carried, 1) if carried]
    assert seen == [*range(1, 11), 20]
    assert documents.calls == [TRACES["a"]] * 21, "logs name the trace of all"


async def test_what_is_pushed_long_after_a_load_is_no_part_of_its_trace(
    owner: Owner, sweeps: Sweeps, new_publishing: NewPublishing
) -> None:
    async with owner.database.transaction() as tx:
        await tx.execute("UPDATE task_heads SET moved_at = moved_at - interval '1 day'")
    documents = Documents()
    await push(owner, new_publishing, documents, await due(owner))
    assert (documents.carried, documents.calls) == ([{}], [None])
