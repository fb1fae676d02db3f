import datetime

from classifeed.documents.v1 import document_pb2 as _document_pb2
from classifeed.documents.v1 import index_queue_service_pb2 as _index_queue_service_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IndexDocument(_message.Message):
    __slots__ = ("client", "epoch", "pk", "version", "timestamp", "action", "fields", "embeddings", "fence", "queue", "shard", "idx", "body")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PK_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    IDX_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    client: str
    epoch: int
    pk: str
    version: int
    timestamp: _timestamp_pb2.Timestamp
    action: _document_pb2.DocumentAction
    fields: _containers.RepeatedCompositeFieldContainer[_document_pb2.Field]
    embeddings: _containers.RepeatedCompositeFieldContainer[_document_pb2.Embedding]
    fence: int
    queue: _index_queue_service_pb2.IndexQueue
    shard: int
    idx: int
    body: str
    def __init__(self, client: _Optional[str] = ..., epoch: _Optional[int] = ..., pk: _Optional[str] = ..., version: _Optional[int] = ..., timestamp: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., action: _Optional[_Union[_document_pb2.DocumentAction, str]] = ..., fields: _Optional[_Iterable[_Union[_document_pb2.Field, _Mapping]]] = ..., embeddings: _Optional[_Iterable[_Union[_document_pb2.Embedding, _Mapping]]] = ..., fence: _Optional[int] = ..., queue: _Optional[_Union[_index_queue_service_pb2.IndexQueue, str]] = ..., shard: _Optional[int] = ..., idx: _Optional[int] = ..., body: _Optional[str] = ...) -> None: ...
