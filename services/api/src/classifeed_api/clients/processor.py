"""The processor's TaskService."""

from __future__ import annotations

import grpc

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceStub
from classifeed_api.domain.feeds import FeedDeletion
from classifeed_api.domain.uploads import Upload


class ProcessorClient:
    """Makes tasks at the processor."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.stub = TaskServiceStub(channel)

    async def load_upload(self, upload: Upload) -> int:
        """Returns the id of the task that loads the upload; idempotent by the upload's id.

        Raises:
            grpc.aio.AioRpcError: as the processor answered.
        """
        task = await self.stub.CreateTask(
            CreateTaskRequest(
                kind=task_pb2.TASK_KIND_LOAD,
                seller_id=upload.seller_id,
                namespace=upload.namespace,
                upload_id=str(upload.upload_id),
                source_sha256=upload.sha256,
                source_bytes=upload.size_bytes,
                file_name=upload.file_name,
                mode=load_pb2.LoadMode.Name(upload.mode),
                disposition=load_pb2.Disposition.Name(upload.disposition),
            )
        )
        return int(task.task_id)

    async def delete_offers(self, deletion: FeedDeletion) -> int:
        """Returns the id of the task that takes a removed feed's offers away; idempotent by namespace and version.

        Raises:
            grpc.aio.AioRpcError: as the processor answered.
        """
        task = await self.stub.CreateTask(
            CreateTaskRequest(
                kind=task_pb2.TASK_KIND_DELETE,
                seller_id=deletion.key.seller_id,
                namespace=deletion.key.namespace,
                feed_version=deletion.version,
                disposition=load_pb2.Disposition.Name(deletion.disposition),
            )
        )
        return int(task.task_id)
