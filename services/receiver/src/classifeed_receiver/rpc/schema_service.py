"""SchemaService: epochs of the clients and their schemas."""

from __future__ import annotations

from classifeed.documents.v1 import schema_service_pb2 as pb
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.documents.v1.schema_service_pb2_grpc import SchemaServiceServicer
from classifeed_common.db import Database
from classifeed_common.errors import NotFound
from classifeed_common.rpc.context import Context
from classifeed_receiver.app.pushing.put_schema import put_schema
from classifeed_receiver.domain.schemas import Epoch
from classifeed_receiver.rpc.own_clients import require_own, require_readable
from classifeed_receiver.store import schemas
from classifeed_receiver.store.known_epochs import KnownEpochs


class SchemaService(SchemaServiceServicer):
    """Schemas of the clients' epochs. Add ActivateEpoch here."""

    def __init__(self, database: Database, known: KnownEpochs) -> None:
        self._database = database
        self._known = known

    async def PutSchema(self, request: pb.PutSchemaRequest, context: Context) -> Schema:
        """Put the schema of an epoch."""
        require_own(request.schema.client)
        return _schema_of(await put_schema(self._database, self._known, request.schema))

    async def GetSchema(self, request: pb.GetSchemaRequest, context: Context) -> Schema:
        """Return the schema of an epoch; it is read from the table, so it is never out of date."""
        require_readable(request.client)
        async with self._database.connection() as connection:
            epochs = await schemas.list_epochs(connection, request.client)
        epoch = epochs.by_number.get(request.epoch or epochs.active)
        if epoch is None:
            wanted = f"epoch {request.epoch}" if request.epoch else "active epoch"
            raise NotFound(
                "SCHEMA_NOT_FOUND",
                f"The client {request.client} has no {wanted}. Put its schema by SchemaService.PutSchema.",
                metadata={"client": request.client, "epoch": str(request.epoch)},
            )
        return _schema_of(epoch)

    async def ListEpochs(self, request: pb.ListEpochsRequest, context: Context) -> pb.ListEpochsResponse:
        """List the epochs, the newest first."""
        require_readable(request.client)
        async with self._database.connection() as connection:
            epochs = await schemas.list_epochs(connection, request.client)
        return pb.ListEpochsResponse(schemas=map(_schema_of, epochs.by_number.values()))


def _schema_of(epoch: Epoch) -> Schema:
    response = Schema()
    response.CopyFrom(epoch.schema)
    response.state = epoch.state.value  # type: ignore[assignment]
    response.create_time.FromDatetime(epoch.create_time)
    return response
