from buf.validate import validate_pb2 as _validate_pb2
from classifeed.documents.v1 import index_queue_service_pb2 as _index_queue_service_pb2
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
    __slots__ = ("shard", "holder", "fence", "delivered")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_FIELD_NUMBER: _ClassVar[int]
    shard: int
    holder: str
    fence: int
    delivered: _containers.RepeatedCompositeFieldContainer[_index_queue_service_pb2.QueueCursor]
    def __init__(self, shard: _Optional[int] = ..., holder: _Optional[str] = ..., fence: _Optional[int] = ..., delivered: _Optional[_Iterable[_Union[_index_queue_service_pb2.QueueCursor, _Mapping]]] = ...) -> None: ...

class IndexerStatus(_message.Message):
    __slots__ = ("client", "shards")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    client: str
    shards: _containers.RepeatedCompositeFieldContainer[ShardStatus]
    def __init__(self, client: _Optional[str] = ..., shards: _Optional[_Iterable[_Union[ShardStatus, _Mapping]]] = ...) -> None: ...
