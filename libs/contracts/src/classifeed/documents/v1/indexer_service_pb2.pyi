import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.documents.v1 import index_queue_service_pb2 as _index_queue_service_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetIndexerStatusRequest(_message.Message):
    __slots__ = ("client",)
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    client: str
    def __init__(self, client: _Optional[str] = ...) -> None: ...

class ShardStatus(_message.Message):
    __slots__ = ("shard", "holder", "fence", "delivered", "refill")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_FIELD_NUMBER: _ClassVar[int]
    REFILL_FIELD_NUMBER: _ClassVar[int]
    shard: int
    holder: str
    fence: int
    delivered: _containers.RepeatedCompositeFieldContainer[_index_queue_service_pb2.QueueCursor]
    refill: RefillStatus
    def __init__(self, shard: _Optional[int] = ..., holder: _Optional[str] = ..., fence: _Optional[int] = ..., delivered: _Optional[_Iterable[_Union[_index_queue_service_pb2.QueueCursor, _Mapping]]] = ..., refill: _Optional[_Union[RefillStatus, _Mapping]] = ...) -> None: ...

class RefillStatus(_message.Message):
    __slots__ = ("reason", "documents", "request_time")
    REASON_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_TIME_FIELD_NUMBER: _ClassVar[int]
    reason: str
    documents: int
    request_time: _timestamp_pb2.Timestamp
    def __init__(self, reason: _Optional[str] = ..., documents: _Optional[int] = ..., request_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class RequestRefillRequest(_message.Message):
    __slots__ = ("client", "shards")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    client: str
    shards: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, client: _Optional[str] = ..., shards: _Optional[_Iterable[int]] = ...) -> None: ...

class RequestRefillResponse(_message.Message):
    __slots__ = ("shards",)
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    shards: int
    def __init__(self, shards: _Optional[int] = ...) -> None: ...

class IndexerStatus(_message.Message):
    __slots__ = ("client", "shards")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    client: str
    shards: _containers.RepeatedCompositeFieldContainer[ShardStatus]
    def __init__(self, client: _Optional[str] = ..., shards: _Optional[_Iterable[_Union[ShardStatus, _Mapping]]] = ...) -> None: ...
