from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.documents.v1.receiver_service_pb2

class ReceiverServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    Push: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.receiver_service_pb2.PushRequest, classifeed.documents.v1.receiver_service_pb2.PushResponse]
    PushBatch: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.receiver_service_pb2.PushBatchRequest, classifeed.documents.v1.receiver_service_pb2.PushBatchResponse]
    PushStream: grpc.aio.StreamStreamMultiCallable[classifeed.documents.v1.receiver_service_pb2.PushBatchRequest, classifeed.documents.v1.receiver_service_pb2.PushBatchResponse]
    CheckPositions: grpc.aio.UnaryUnaryMultiCallable[classifeed.documents.v1.receiver_service_pb2.CheckPositionsRequest, classifeed.documents.v1.receiver_service_pb2.CheckPositionsResponse]

class ReceiverServiceServicer:
    def Push(self, request: classifeed.documents.v1.receiver_service_pb2.PushRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.receiver_service_pb2.PushResponse]: ...
    def PushBatch(self, request: classifeed.documents.v1.receiver_service_pb2.PushBatchRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.receiver_service_pb2.PushBatchResponse]: ...
    def PushStream(self, request: AsyncIterator[classifeed.documents.v1.receiver_service_pb2.PushBatchRequest], context: grpc.aio.ServicerContext[Any, Any], /) -> AsyncIterator[classifeed.documents.v1.receiver_service_pb2.PushBatchResponse]: ...
    def CheckPositions(self, request: classifeed.documents.v1.receiver_service_pb2.CheckPositionsRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.documents.v1.receiver_service_pb2.CheckPositionsResponse]: ...

def add_ReceiverServiceServicer_to_server(servicer: ReceiverServiceServicer, server: grpc.aio.Server) -> None: ...
