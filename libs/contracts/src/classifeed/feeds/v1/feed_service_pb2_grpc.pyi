from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.feeds.v1.feed_service_pb2
import classifeed.feeds.v1.task_pb2
import classifeed.feeds.v1.task_service_pb2

class FeedServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    UploadFeed: grpc.aio.StreamUnaryMultiCallable[classifeed.feeds.v1.feed_service_pb2.UploadFeedRequest, classifeed.feeds.v1.feed_service_pb2.Upload]
    GetUpload: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.feed_service_pb2.GetUploadRequest, classifeed.feeds.v1.feed_service_pb2.Upload]
    GetTask: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.task_service_pb2.GetTaskRequest, classifeed.feeds.v1.task_pb2.Task]
    ListTasks: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.task_service_pb2.ListTasksRequest, classifeed.feeds.v1.task_service_pb2.ListTasksResponse]
    WatchTask: grpc.aio.UnaryStreamMultiCallable[classifeed.feeds.v1.task_service_pb2.GetTaskRequest, classifeed.feeds.v1.task_pb2.Task]
    ListOfferErrors: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.task_service_pb2.ListOfferErrorsRequest, classifeed.feeds.v1.task_service_pb2.ListOfferErrorsResponse]

class FeedServiceServicer:
    def UploadFeed(self, request: AsyncIterator[classifeed.feeds.v1.feed_service_pb2.UploadFeedRequest], context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.feed_service_pb2.Upload]: ...
    def GetUpload(self, request: classifeed.feeds.v1.feed_service_pb2.GetUploadRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.feed_service_pb2.Upload]: ...
    def GetTask(self, request: classifeed.feeds.v1.task_service_pb2.GetTaskRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.task_pb2.Task]: ...
    def ListTasks(self, request: classifeed.feeds.v1.task_service_pb2.ListTasksRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.task_service_pb2.ListTasksResponse]: ...
    def WatchTask(self, request: classifeed.feeds.v1.task_service_pb2.GetTaskRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> AsyncIterator[classifeed.feeds.v1.task_pb2.Task]: ...
    def ListOfferErrors(self, request: classifeed.feeds.v1.task_service_pb2.ListOfferErrorsRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.task_service_pb2.ListOfferErrorsResponse]: ...

def add_FeedServiceServicer_to_server(servicer: FeedServiceServicer, server: grpc.aio.Server) -> None: ...
