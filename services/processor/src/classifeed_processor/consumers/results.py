"""Entry point of the topic feeds.offer-results.v1."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from classifeed.feeds.v1 import offer_results_pb2
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.offer_results_pb2 import LateResult, OfferBatchResult, RunCheckResult, TaskEndResult
from classifeed_common.db import Database, Tx
from classifeed_common.kafka import (
    GroupPartition,
    Poison,
    Position,
    Record,
    TablePositions,
    decode_all,
    trace_of,
    type_of,
)
from classifeed_common.telemetry.tracing import describe_span
from classifeed_jobs import JobStore
from classifeed_processor.app.runs.signal_tasks import TaskSignals
from classifeed_processor.app.runs.take_results import Reply, key_of, take_results
from classifeed_processor.domain.tasks import TaskKey

GROUP: Final = "processor"
_TYPES: Final[dict[str, type[Reply]]] = {
    cls.DESCRIPTOR.full_name: cls for cls in (OfferBatchResult, TaskEndResult, RunCheckResult, LateResult)
}
_OUTCOMES: Final[dict[type[Reply], frozenset[int]]] = {
    OfferBatchResult: frozenset(set(offer_results_pb2.BatchOutcome.values()) - {0}),
    TaskEndResult: frozenset(set(offer_results_pb2.TaskEndOutcome.values()) - {0}),
}
_TEXTS: Final = [field.name for field in OfferError.DESCRIPTOR.fields if field.type == FieldDescriptor.TYPE_STRING]


class ResultHandler:
    """Handles polls of results, for an OrderedConsumer over `NotifyingPositions`.

    Args:
        jobs: job store of the tasks' jobs.
    """

    def __init__(self, jobs: JobStore) -> None:
        self._jobs = jobs
        self.moved: set[TaskKey] = set()

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Apply the replies of a poll, all in `tx`.

        Raises:
            Poison: a record is not a reply.
        """
        replies = decode_all(records, decode_result)
        traces = {key_of(reply): trace_of(record) for record, reply in zip(records, replies, strict=True)}
        for key, trace in traces.items():
            describe_span(trace, seller=key.seller_id, namespace=key.namespace, task=key.task_id)
        self.moved |= await take_results(tx, self._jobs, replies, traces=traces)


class NotifyingPositions(TablePositions):
    """Positions whose committed effect wakes the jobs of the tasks that it moved."""

    def __init__(self, database: Database, handler: ResultHandler, signals: TaskSignals) -> None:
        super().__init__(database)
        self._handler = handler
        self._signals = signals

    @asynccontextmanager
    async def effect(
        self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
    ) -> AsyncIterator[Any]:
        """Open an effect; see TablePositions."""
        self._handler.moved.clear()
        async with super().effect(expected, new) as tx:
            yield tx
        self._signals.notify(self._handler.moved)


def decode_result(record: Record) -> Reply:
    """Return the reply in a record, with texts that PostgreSQL can store.

    Raises:
        Poison: the record is not a valid reply; the text has the reason.
    """
    cls = _TYPES.get(type_of(record))
    if cls is None:
        raise Poison(record, f"is not a result, but {type_of(record) or 'of no type'}")
    try:
        reply = cls.FromString(record.value)
    except DecodeError as error:
        raise Poison(record, f"cannot be read as {cls.DESCRIPTOR.full_name}: {error}") from error
    names = (reply.seller_id, reply.namespace)
    if not all(names) or "\0" in "".join(names) or reply.task_id < 1:
        raise Poison(record, "names no task")
    if isinstance(reply, LateResult):
        for late in reply.errors:
            _replace_nuls(late.error)
        return reply
    if reply.run < 1:
        raise Poison(record, "names no run of a task")
    if isinstance(reply, RunCheckResult):
        return reply
    outcomes = _OUTCOMES[type(reply)]
    if reply.outcome not in outcomes:
        # A newer service offers may send outcomes that this version does not know. Such an outcome must not count as a
        # success: the task keeps requesting a reply, and readiness reports it, until a newer processor runs.
        known = ", ".join(map(str, sorted(outcomes)))
        raise Poison(record, f"has outcome {reply.outcome}, which is unknown to this version (known: {known})")
    if isinstance(reply, OfferBatchResult):
        reply.reason = reply.reason.replace("\0", "\ufffd")
        for issue in reply.errors:
            _replace_nuls(issue)
    return reply


def _replace_nuls(issue: OfferError) -> None:
    """Replace NUL characters, which PostgreSQL cannot store, so that the batch still gets its reply."""
    for name in _TEXTS:
        if "\0" in (text := getattr(issue, name)):
            setattr(issue, name, text.replace("\0", "\ufffd"))
