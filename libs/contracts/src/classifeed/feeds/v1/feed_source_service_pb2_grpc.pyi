from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.feeds.v1.feed_pb2
import classifeed.feeds.v1.feed_source_service_pb2

class FeedSourceServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    PutSources: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.feed_source_service_pb2.PutSourcesRequest, classifeed.feeds.v1.feed_source_service_pb2.PutSourcesResponse]
    RunSource: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.feed_source_service_pb2.RunSourceRequest, classifeed.feeds.v1.feed_pb2.Fetch]
    GetSourceStates: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.feed_source_service_pb2.GetSourceStatesRequest, classifeed.feeds.v1.feed_source_service_pb2.GetSourceStatesResponse]
    GetFetch: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.feed_source_service_pb2.GetFetchRequest, classifeed.feeds.v1.feed_pb2.Fetch]
    ListFetches: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.feed_source_service_pb2.ListFetchesRequest, classifeed.feeds.v1.feed_source_service_pb2.ListFetchesResponse]

class FeedSourceServiceServicer:
    def PutSources(self, request: classifeed.feeds.v1.feed_source_service_pb2.PutSourcesRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.feed_source_service_pb2.PutSourcesResponse]: ...
    def RunSource(self, request: classifeed.feeds.v1.feed_source_service_pb2.RunSourceRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.feed_pb2.Fetch]: ...
    def GetSourceStates(self, request: classifeed.feeds.v1.feed_source_service_pb2.GetSourceStatesRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.feed_source_service_pb2.GetSourceStatesResponse]: ...
    def GetFetch(self, request: classifeed.feeds.v1.feed_source_service_pb2.GetFetchRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.feed_pb2.Fetch]: ...
    def ListFetches(self, request: classifeed.feeds.v1.feed_source_service_pb2.ListFetchesRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.feed_source_service_pb2.ListFetchesResponse]: ...

def add_FeedSourceServiceServicer_to_server(servicer: FeedSourceServiceServicer, server: grpc.aio.Server) -> None: ...
