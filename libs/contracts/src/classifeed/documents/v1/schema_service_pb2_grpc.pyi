from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.documents.v1.schema_pb2
import classifeed.documents.v1.schema_service_pb2

class SchemaServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    PutSchema: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.schema_service_pb2.PutSchemaRequest, classifeed.documents.v1.schema_pb2.Schema]
    GetSchema: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.schema_service_pb2.GetSchemaRequest, classifeed.documents.v1.schema_pb2.Schema]
    ListEpochs: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.schema_service_pb2.ListEpochsRequest, classifeed.documents.v1.schema_service_pb2.ListEpochsResponse]

class SchemaServiceServicer:
    def PutSchema(self, request: classifeed.documents.v1.schema_service_pb2.PutSchemaRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.schema_pb2.Schema]: ...
    def GetSchema(self, request: classifeed.documents.v1.schema_service_pb2.GetSchemaRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.schema_pb2.Schema]: ...
    def ListEpochs(self, request: classifeed.documents.v1.schema_service_pb2.ListEpochsRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.schema_service_pb2.ListEpochsResponse]: ...

def add_SchemaServiceServicer_to_server(servicer: SchemaServiceServicer, server: grpc.aio.Server) -> None: ...
