from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.feeds.v1.task_pb2
import classifeed.feeds.v1.task_service_pb2

class TaskServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    CreateTask: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.task_service_pb2.CreateTaskRequest, classifeed.feeds.v1.task_pb2.Task]
    GetTask: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.task_service_pb2.GetTaskRequest, classifeed.feeds.v1.task_pb2.Task]
    ListTasks: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.task_service_pb2.ListTasksRequest, classifeed.feeds.v1.task_service_pb2.ListTasksResponse]
    ListOfferErrors: grpc.aio.UnaryUnaryMultiCallable[classifeed.feeds.v1.task_service_pb2.ListOfferErrorsRequest, classifeed.feeds.v1.task_service_pb2.ListOfferErrorsResponse]

class TaskServiceServicer:
    def CreateTask(self, request: classifeed.feeds.v1.task_service_pb2.CreateTaskRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.task_pb2.Task]: ...
    def GetTask(self, request: classifeed.feeds.v1.task_service_pb2.GetTaskRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.task_pb2.Task]: ...
    def ListTasks(self, request: classifeed.feeds.v1.task_service_pb2.ListTasksRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.task_service_pb2.ListTasksResponse]: ...
    def ListOfferErrors(self, request: classifeed.feeds.v1.task_service_pb2.ListOfferErrorsRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.feeds.v1.task_service_pb2.ListOfferErrorsResponse]: ...

def add_TaskServiceServicer_to_server(servicer: TaskServiceServicer, server: grpc.aio.Server) -> None: ...
