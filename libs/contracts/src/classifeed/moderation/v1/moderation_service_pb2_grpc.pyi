from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.moderation.v1.moderation_service_pb2

class ModerationServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    GetVersion: grpc.aio.UnaryUnaryMultiCallable[classifeed.moderation.v1.moderation_service_pb2.GetVersionRequest, classifeed.moderation.v1.moderation_service_pb2.GetVersionResponse]

class ModerationServiceServicer:
    def GetVersion(self, request: classifeed.moderation.v1.moderation_service_pb2.GetVersionRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.moderation.v1.moderation_service_pb2.GetVersionResponse]: ...

def add_ModerationServiceServicer_to_server(servicer: ModerationServiceServicer, server: grpc.aio.Server) -> None: ...
