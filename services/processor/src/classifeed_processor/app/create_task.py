"""Making a task for an upload, with the job that will run it."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.db import Database
from classifeed_common.errors import AlreadyExists
from classifeed_jobs import JobStore
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import tasks

QUEUE: Final = "feed.process"
TASK: Final = "feed.process"


async def create_task(db: Database, jobs: JobStore, request: CreateTaskRequest, *, timeout_s: float | None) -> TaskKey:
    """Returns the task that loads the upload, new or the one that was made before.

    Idempotent by upload id. Task ids of a namespace grow in the order in which the tasks become visible. The task and
    its job exist together or not at all.

    Raises:
        AlreadyExists: the upload id was used for another file or namespace.
    """
    mode = request.mode or load_pb2.LOAD_MODE_REPLACE
    disposition = request.disposition or load_pb2.DISPOSITION_DELETE
    async with db.transaction(timeout_s=timeout_s) as tx:
        await tasks.lock_counter(tx, request.seller_id, request.namespace)
        found = await tasks.find_upload(tx, request.upload_id)
        if found is not None:
            key, made_for = found
            asked = (TaskKey(request.seller_id, request.namespace, key.task_id), request.source_sha256)
            if asked != (key, made_for[0]) or made_for[1:] != (mode, disposition):
                raise AlreadyExists(
                    "UPLOAD_ID_TAKEN",
                    f"The upload {request.upload_id} has {key.name} for another file, namespace or mode. "
                    "Use a new upload id for a new upload.",
                    metadata={"task": key.name},
                )
            return key
        columns = {
            "kind": task_pb2.TASK_KIND_LOAD,
            "status": task_pb2.TASK_STATUS_IN_PROGRESS,
            "phase": task_pb2.TASK_PHASE_UNSPECIFIED,
            "mode": mode,
            "disposition": disposition,
            "upload_id": request.upload_id,
            "source_sha256": request.source_sha256,
            "source_bytes": request.source_bytes,
            "file_name": request.file_name,
        }
        key = await tasks.insert_task(tx, request.seller_id, request.namespace, columns)
        await jobs.enqueue(
            tx,
            QUEUE,
            TASK,
            key._asdict(),
            lock_key=key.lock_key,
            idempotency_key=f"task:{key.name}",
            # Passing faults are retried for as long as they last; lasting ones end the task, not the job.
            max_attempts=None,
            producer="processor",
        )
        return key
