from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.documents.v1.index_queue_service_pb2

class IndexQueueServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    ReadElements: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.index_queue_service_pb2.ReadElementsRequest, classifeed.documents.v1.index_queue_service_pb2.ReadElementsResponse]
    AppendFailed: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.index_queue_service_pb2.AppendFailedRequest, classifeed.documents.v1.index_queue_service_pb2.AppendFailedResponse]
    ReportProgress: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.index_queue_service_pb2.ReportProgressRequest, classifeed.documents.v1.index_queue_service_pb2.ReportProgressResponse]

class IndexQueueServiceServicer:
    def ReadElements(self, request: classifeed.documents.v1.index_queue_service_pb2.ReadElementsRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.index_queue_service_pb2.ReadElementsResponse]: ...
    def AppendFailed(self, request: classifeed.documents.v1.index_queue_service_pb2.AppendFailedRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.index_queue_service_pb2.AppendFailedResponse]: ...
    def ReportProgress(self, request: classifeed.documents.v1.index_queue_service_pb2.ReportProgressRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.index_queue_service_pb2.ReportProgressResponse]: ...

def add_IndexQueueServiceServicer_to_server(servicer: IndexQueueServiceServicer, server: grpc.aio.Server) -> None: ...
