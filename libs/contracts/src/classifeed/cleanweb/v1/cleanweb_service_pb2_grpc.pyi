from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.cleanweb.v1.cleanweb_service_pb2

class CleanwebServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    GetVersion: grpc.aio.UnaryUnaryMultiCallable[classifeed.cleanweb.v1.cleanweb_service_pb2.GetVersionRequest, classifeed.cleanweb.v1.cleanweb_service_pb2.GetVersionResponse]

class CleanwebServiceServicer:
    def GetVersion(self, request: classifeed.cleanweb.v1.cleanweb_service_pb2.GetVersionRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.cleanweb.v1.cleanweb_service_pb2.GetVersionResponse]: ...

def add_CleanwebServiceServicer_to_server(servicer: CleanwebServiceServicer, server: grpc.aio.Server) -> None: ...
