"""Load the stored file of an earlier task again, as a new task."""

from __future__ import annotations

from typing import Any, Final

import structlog

from classifeed.feeds.v1 import task_pb2
from classifeed_common.blobs import BlobMissing, BlobRefs, BlobStore
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FailedPrecondition, FieldViolation, InvalidArgument, ResourceExhausted
from classifeed_feeds.parser_version import PARSER_VERSION
from classifeed_jobs import JobStore
from classifeed_processor.app.tasks.create_task import decision_at_start, enqueue_run
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reruns, tasks

_log = structlog.get_logger(__name__)
_REFS: Final = BlobRefs()
# Maximum number of open reruns in a namespace, so that a caller in a loop cannot fill the queue.
_MOST_OPEN: Final = 10
_OPEN: Final = frozenset({task_pb2.TASK_STATUS_IN_PROGRESS, task_pb2.TASK_STATUS_HELD})


async def rerun_task(
    database: Database,
    jobs: JobStore,
    blobs: BlobStore,
    earlier: TaskKey,
    *,
    request_id: str | None,
    allow_removals: bool,
    allow_changes: bool,
    timeout_s: float | None,
) -> TaskKey:
    """Return a new task, or the task that the same request created before.

    The task loads the file of the earlier task with its mode, disposition and required format, and with the current
    parser. Like an upload, it is not ordered among the fetches of a link: a fetch never outdates it, and a later fetch
    of another file is loaded.

    Args:
        database: database of the tasks.
        jobs: job store for the job of the new task.
        blobs: object store of the file.
        earlier: task whose file is loaded.
        request_id: id that makes the call idempotent within the seller; None: each call is a new load.
        allow_removals: whether to load it even if it would be held because of its removals.
        allow_changes: whether to load it even if it would be held because of its changes.
        timeout_s: timeout of each transaction, in seconds.

    Raises:
        NotFound: the earlier task does not exist.
        FailedPrecondition: it has not ended, has no file, its file is gone, or its namespace was removed since.
        InvalidArgument: the request_id was used for another task.
        ResourceExhausted: the namespace has reached its limit of open reruns.
        Unavailable: the object store does not respond; try again.
    """
    async with database.transaction(timeout_s=timeout_s) as tx:
        if made := await _find_made(tx, earlier, request_id):
            return made
        sha256 = (await _lock_earlier(tx, earlier)).source_sha256
    # Keep the file before the task is created, so that no task is created without one. The earlier task refers to the
    # file until it is locked below; if it was removed meanwhile, the lock fails.
    try:
        await blobs.keep(sha256)
    except BlobMissing as error:
        raise FailedPrecondition(
            "SOURCE_GONE",
            f"The file of {earlier.name} is no longer stored. Upload it again, or run its feed.",
            metadata={"task": earlier.name},
        ) from error
    async with database.transaction(timeout_s=timeout_s) as tx:
        await tasks.lock_counter(tx, earlier.seller_id, earlier.namespace)
        if made := await _find_made(tx, earlier, request_id):
            return made
        await _lock_earlier(tx, earlier)
        await _require_not_removed(tx, earlier)
        await _require_room(tx, earlier)
        key = await tasks.draw_key(tx, earlier.seller_id, earlier.namespace)
        columns = _columns_of(request_id, allow_removals=allow_removals, allow_changes=allow_changes)
        await reruns.insert_rerun(tx, key, earlier, columns, await enqueue_run(tx, jobs, key))
        await _REFS.add(tx, sha256, key.blob_ref)
    _log.info("task.rerun", task=key.name, rerun_of=earlier.name)
    return key


def _columns_of(request_id: str | None, *, allow_removals: bool, allow_changes: bool) -> dict[str, Any]:
    return {
        "status": task_pb2.TASK_STATUS_IN_PROGRESS,
        "phase": task_pb2.TASK_PHASE_UNSPECIFIED,
        "parser_version": PARSER_VERSION,
        "request_id": request_id,
        "decision": decision_at_start(allow_removals=allow_removals, allow_changes=allow_changes),
    }


async def _find_made(tx: Tx, earlier: TaskKey, request_id: str | None) -> TaskKey | None:
    made = await reruns.find_rerun(tx, earlier.seller_id, request_id) if request_id is not None else None
    if made is None:
        return None
    if made.earlier != earlier:
        raise InvalidArgument(
            "REQUEST_ID_REUSED",
            f"The request_id {request_id} was used to run {made.earlier.name} again. Send a new request_id for another "
            "task.",
            violations=[FieldViolation("request_id", "was used for another task")],
        )
    return made.key


async def _lock_earlier(tx: Tx, key: TaskKey) -> reruns.Earlier:
    earlier = await reruns.lock_earlier(tx, key)
    if earlier is None:
        raise key.not_found()
    if earlier.kind == task_pb2.TASK_KIND_DELETE:
        raise FailedPrecondition(
            "SOURCE_GONE",
            f"{key.name} removes a feed and has no file. Name a task that loads one.",
            metadata={"task": key.name},
        )
    if earlier.status in _OPEN:
        raise FailedPrecondition(
            "TASK_OPEN",
            f"{key.name} is not complete. Wait for it, cancel it, or decide about it if it is held; then run it again.",
            metadata={"task": key.name},
        )
    return earlier


async def _require_not_removed(tx: Tx, earlier: TaskKey) -> None:
    newest = await tasks.find_newest(tx, earlier.seller_id, earlier.namespace)
    if newest is not None and newest.kind == task_pb2.TASK_KIND_DELETE:
        raise FailedPrecondition(
            "NAMESPACE_REMOVED",
            f"The feed of {earlier.name} was removed after that load. Create the feed again, or upload the file again.",
            metadata={"task": earlier.name},
        )


async def _require_room(tx: Tx, earlier: TaskKey) -> None:
    if await reruns.count_open(tx, earlier.seller_id, earlier.namespace) >= _MOST_OPEN:
        raise ResourceExhausted(
            "RERUNS_FULL",
            f"{_MOST_OPEN} reruns in the namespace of {earlier.name} are not complete, which is the limit. Wait for "
            f"one of them, or cancel those that are not needed.",
            metadata={"task": earlier.name},
        )
