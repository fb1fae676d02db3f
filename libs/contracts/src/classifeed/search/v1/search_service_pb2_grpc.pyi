from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.search.v1.search_service_pb2

class SearchServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    Search: grpc.aio.UnaryUnaryMultiCallable[classifeed.search.v1.search_service_pb2.SearchRequest, classifeed.search.v1.search_service_pb2.SearchResponse]
    GetDocument: grpc.aio.UnaryUnaryMultiCallable[classifeed.search.v1.search_service_pb2.GetDocumentRequest, classifeed.search.v1.search_service_pb2.Hit]
    GetIndexStatus: grpc.aio.UnaryUnaryMultiCallable[classifeed.search.v1.search_service_pb2.GetIndexStatusRequest, classifeed.search.v1.search_service_pb2.IndexStatus]
    GetDigest: grpc.aio.UnaryUnaryMultiCallable[classifeed.search.v1.search_service_pb2.GetDigestRequest, classifeed.search.v1.search_service_pb2.GetDigestResponse]

class SearchServiceServicer:
    def Search(self, request: classifeed.search.v1.search_service_pb2.SearchRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.search.v1.search_service_pb2.SearchResponse]: ...
    def GetDocument(self, request: classifeed.search.v1.search_service_pb2.GetDocumentRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.search.v1.search_service_pb2.Hit]: ...
    def GetIndexStatus(self, request: classifeed.search.v1.search_service_pb2.GetIndexStatusRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.search.v1.search_service_pb2.IndexStatus]: ...
    def GetDigest(self, request: classifeed.search.v1.search_service_pb2.GetDigestRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.search.v1.search_service_pb2.GetDigestResponse]: ...

def add_SearchServiceServicer_to_server(servicer: SearchServiceServicer, server: grpc.aio.Server) -> None: ...
