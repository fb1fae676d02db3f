"""The receiver's SchemaService."""

from __future__ import annotations

import grpc

from classifeed.documents.v1 import schema_pb2, schema_service_pb2
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceStub


class SchemaClient:
    """Asks for schemas."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = SchemaServiceStub(channel)

    async def get(self, client: str, epoch: int) -> schema_pb2.Schema:
        """Returns the schema of an epoch; 0 is the active one.

        Raises:
            grpc.aio.AioRpcError: as the receiver answered; NOT_FOUND before the client has put its first schema.
        """
        return await self._stub.GetSchema(schema_service_pb2.GetSchemaRequest(client=client, epoch=epoch))
