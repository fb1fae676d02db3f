from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.documents.v1.indexer_service_pb2

class IndexerServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    GetStatus: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.indexer_service_pb2.GetIndexerStatusRequest, classifeed.documents.v1.indexer_service_pb2.IndexerStatus]
    RequestRefill: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.indexer_service_pb2.RequestRefillRequest, classifeed.documents.v1.indexer_service_pb2.RequestRefillResponse]

class IndexerServiceServicer:
    def GetStatus(self, request: classifeed.documents.v1.indexer_service_pb2.GetIndexerStatusRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.indexer_service_pb2.IndexerStatus]: ...
    def RequestRefill(self, request: classifeed.documents.v1.indexer_service_pb2.RequestRefillRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.indexer_service_pb2.RequestRefillResponse]: ...

def add_IndexerServiceServicer_to_server(servicer: IndexerServiceServicer, server: grpc.aio.Server) -> None: ...
