"""Create a task with the job that will run it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import structlog

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_ALLOW_CHANGES,
    HOLD_DECISION_ALLOW_REMOVALS,
    HOLD_DECISION_CONFIRM,
    HOLD_DECISION_UNSPECIFIED,
    HoldDecision,
)
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.blobs import BlobMissing, BlobRefs, BlobStore
from classifeed_common.db import Database, Tx
from classifeed_common.errors import AlreadyExists
from classifeed_feeds.parser_version import PARSER_VERSION
from classifeed_jobs import JobStore
from classifeed_processor.domain.feed_order import FINISHED_OR_COMING
from classifeed_processor.domain.made_task import MadeTask
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.domain.wanted_task import WantedTask, read_request
from classifeed_processor.store import tasks

QUEUE: Final = "feed.process"
TASK: Final = "feed.process"

_log = structlog.get_logger(__name__)
_REFS: Final = BlobRefs()


async def create_task(
    database: Database, jobs: JobStore, request: CreateTaskRequest, *, timeout_s: float | None
) -> TaskKey:
    """Return the task of an upload, a fetch or a removal: a new one, the existing one, or an equivalent load.

    Idempotent by the upload's id, by source and number of the fetch, and by namespace and version of a removed feed.
    Task ids of a namespace grow in the order in which the tasks become visible. The task and its job are created in
    one transaction.

    Raises:
        InvalidArgument: the request is not for exactly one of the three.
        AlreadyExists: the upload, fetch or removal has a task for another file, namespace or mode.
    """
    wanted = read_request(request)
    async with database.transaction(timeout_s=timeout_s) as tx:
        await tasks.lock_counter(tx, wanted.seller_id, wanted.namespace)
        made = await tasks.find_made(tx, wanted)
        if made is not None:
            if not made.matches(wanted):
                raise _taken(wanted, made)
            return made.key
        loaded = await _find_loaded(tx, wanted)
        if loaded is not None:
            return loaded
        key = await tasks.draw_key(tx, wanted.seller_id, wanted.namespace)
        job_id = await enqueue_run(tx, jobs, key)
        await tasks.insert_task(tx, key, job_id, _columns_of(wanted))
        if wanted.source_sha256:
            await _REFS.add(tx, wanted.source_sha256, key.blob_ref)
        return key


def decision_at_start(*, allow_removals: bool, allow_changes: bool) -> HoldDecision:
    """Return the decision about a task that is made before it begins."""
    if allow_removals and allow_changes:
        return HOLD_DECISION_CONFIRM
    if allow_removals:
        return HOLD_DECISION_ALLOW_REMOVALS
    return HOLD_DECISION_ALLOW_CHANGES if allow_changes else HOLD_DECISION_UNSPECIFIED


async def enqueue_run(tx: Tx, jobs: JobStore, key: TaskKey) -> UUID:
    """Enqueue a job that runs a task, from its current phase to its end, and return the job's id."""
    job = await jobs.enqueue(
        tx,
        QUEUE,
        TASK,
        key._asdict(),
        lock_key=key.lock_key,
        partition_key=key.seller_id,
        # Temporary faults are retried without limit; lasting ones end the task, not the job.
        max_attempts=None,
        producer="processor",
    )
    return job.job_id


async def keep_source(blobs: BlobStore, request: CreateTaskRequest) -> None:
    """Keep the file of a created task in our own object store.

    Call it before the response to the caller: until then the caller keeps its file, and it repeats a failed call.

    Raises:
        Unavailable: the object store does not respond.
    """
    if not request.source_sha256:
        return
    try:
        await blobs.keep(request.source_sha256)
    except BlobMissing:
        # The task reports it to the seller when it begins.
        _log.warning("task.source.missing", seller_id=request.seller_id, sha256=request.source_sha256)


async def _find_loaded(tx: Tx, wanted: WantedTask) -> TaskKey | None:
    """Return the newest task of the namespace if it makes a load of this fetched file unnecessary.

    If a load of the same bytes is held, the file is not loaded again, with any settings: the new load would replace the
    one that waits for a decision.
    """
    if wanted.feed_loader_result_id is None:
        return None
    newest = await tasks.find_newest(tx, wanted.seller_id, wanted.namespace)
    if newest is None:
        return None
    if newest.holds(wanted):
        return newest.key
    if not wanted.skip_if_loaded or not newest.has_loaded(wanted, PARSER_VERSION):
        return None
    if newest.is_waiting and newest.fetch is not None:
        # The newest task came late, so it will be superseded, not loaded.
        marks = await tasks.get_marks(tx, wanted.seller_id, wanted.namespace, FINISHED_OR_COMING)
        if marks.outdate(newest.fetch):
            return None
    return newest.key


def _columns_of(wanted: WantedTask) -> dict[str, Any]:
    return {
        "kind": wanted.kind,
        "status": task_pb2.TASK_STATUS_IN_PROGRESS,
        "phase": task_pb2.TASK_PHASE_UNSPECIFIED,
        "mode": wanted.mode,
        "disposition": wanted.disposition,
        "upload_id": wanted.upload_id,
        "feed_loader_task_id": wanted.feed_loader_task_id,
        "feed_loader_result_id": wanted.feed_loader_result_id,
        "feed_version": wanted.feed_version,
        "source_sha256": wanted.source_sha256,
        "source_bytes": wanted.source_bytes,
        "file_name": wanted.file_name,
        "format_wanted": wanted.format_wanted,
        "default_currency": wanted.default_currency,
        "parser_version": PARSER_VERSION,
        "decision": decision_at_start(allow_removals=wanted.allow_removals, allow_changes=wanted.allow_changes),
    }


def _taken(wanted: WantedTask, made: MadeTask) -> AlreadyExists:
    return AlreadyExists(
        "UPLOAD_ID_TAKEN" if wanted.upload_id is not None else "TASK_TAKEN",
        f"The {wanted.what} has {made.key.name} for another file, namespace or mode. Use a new id for something new.",
        metadata={"task": made.key.name},
    )
