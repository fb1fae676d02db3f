"""The requests of a load carry the trace of its job; their processing is recorded for ever fewer batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from classifeed_common.kafka import Message
from classifeed_common.telemetry.tracing import context_of, entered

from ...conftest import WriteOffer, WriteYml
from ..inline import GOOD, Blobs, Owner, Runner

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Recording:
    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self.traceparents: list[str] = []

    async def send(self, messages: Sequence[Message]) -> None:
        self.traceparents += [message.headers["traceparent"].decode() for message in messages]
        await self._owner.send(messages)


async def test_requests_are_in_the_trace_of_the_job(runner: Runner, yml: WriteYml, offer: WriteOffer) -> None:
    sender = Recording(runner.owner)
    blobs = Blobs({GOOD: yml(*(offer(f"a{number}") for number in range(1200)))})
    runner.parts = replace(runner.parts, blobs=blobs, sender=sender)
    key = await runner.upload("u1")
    with entered(context_of({"traceparent": TRACEPARENT})):
        await runner.run(key)
    unrecorded = f"{TRACEPARENT[:-2]}00"
    assert sender.traceparents == [TRACEPARENT] * 10 + [unrecorded] * 2 + [TRACEPARENT], "12 batches and the end"
