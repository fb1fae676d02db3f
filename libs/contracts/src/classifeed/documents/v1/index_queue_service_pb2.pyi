from buf.validate import validate_pb2 as _validate_pb2
from classifeed.documents.v1 import document_pb2 as _document_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IndexQueue(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INDEX_QUEUE_UNSPECIFIED: _ClassVar[IndexQueue]
    INDEX_QUEUE_MAIN: _ClassVar[IndexQueue]
    INDEX_QUEUE_EMERGENCY: _ClassVar[IndexQueue]
    INDEX_QUEUE_FAILED: _ClassVar[IndexQueue]
INDEX_QUEUE_UNSPECIFIED: IndexQueue
INDEX_QUEUE_MAIN: IndexQueue
INDEX_QUEUE_EMERGENCY: IndexQueue
INDEX_QUEUE_FAILED: IndexQueue

class QueueCursor(_message.Message):
    __slots__ = ("queue", "shard", "idx")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    IDX_FIELD_NUMBER: _ClassVar[int]
    queue: IndexQueue
    shard: int
    idx: int
    def __init__(self, queue: _Optional[_Union[IndexQueue, str]] = ..., shard: _Optional[int] = ..., idx: _Optional[int] = ...) -> None: ...

class QueueElement(_message.Message):
    __slots__ = ("position", "document", "traceparent")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    position: QueueCursor
    document: _document_pb2.RawDocument
    traceparent: str
    def __init__(self, position: _Optional[_Union[QueueCursor, _Mapping]] = ..., document: _Optional[_Union[_document_pb2.RawDocument, _Mapping]] = ..., traceparent: _Optional[str] = ...) -> None: ...

class ReadElementsRequest(_message.Message):
    __slots__ = ("client", "cursors", "limit", "max_wait_ms", "bodies")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    CURSORS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    MAX_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    BODIES_FIELD_NUMBER: _ClassVar[int]
    client: str
    cursors: _containers.RepeatedCompositeFieldContainer[QueueCursor]
    limit: int
    max_wait_ms: int
    bodies: bool
    def __init__(self, client: _Optional[str] = ..., cursors: _Optional[_Iterable[_Union[QueueCursor, _Mapping]]] = ..., limit: _Optional[int] = ..., max_wait_ms: _Optional[int] = ..., bodies: _Optional[bool] = ...) -> None: ...

class ReadElementsResponse(_message.Message):
    __slots__ = ("elements", "next")
    ELEMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    elements: _containers.RepeatedCompositeFieldContainer[QueueElement]
    next: _containers.RepeatedCompositeFieldContainer[QueueCursor]
    def __init__(self, elements: _Optional[_Iterable[_Union[QueueElement, _Mapping]]] = ..., next: _Optional[_Iterable[_Union[QueueCursor, _Mapping]]] = ...) -> None: ...

class FailedElement(_message.Message):
    __slots__ = ("position", "pk", "reason")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    PK_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    position: QueueCursor
    pk: str
    reason: str
    def __init__(self, position: _Optional[_Union[QueueCursor, _Mapping]] = ..., pk: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class AppendFailedRequest(_message.Message):
    __slots__ = ("client", "elements")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    ELEMENTS_FIELD_NUMBER: _ClassVar[int]
    client: str
    elements: _containers.RepeatedCompositeFieldContainer[FailedElement]
    def __init__(self, client: _Optional[str] = ..., elements: _Optional[_Iterable[_Union[FailedElement, _Mapping]]] = ...) -> None: ...

class AppendFailedResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReportProgressRequest(_message.Message):
    __slots__ = ("group", "client", "cursors")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    CURSORS_FIELD_NUMBER: _ClassVar[int]
    group: str
    client: str
    cursors: _containers.RepeatedCompositeFieldContainer[QueueCursor]
    def __init__(self, group: _Optional[str] = ..., client: _Optional[str] = ..., cursors: _Optional[_Iterable[_Union[QueueCursor, _Mapping]]] = ...) -> None: ...

class ReportProgressResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetQueueEndsRequest(_message.Message):
    __slots__ = ("client", "group")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    client: str
    group: str
    def __init__(self, client: _Optional[str] = ..., group: _Optional[str] = ...) -> None: ...

class QueueEnds(_message.Message):
    __slots__ = ("queue", "shard", "last_idx", "trimmed_idx", "delivered_idx")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    LAST_IDX_FIELD_NUMBER: _ClassVar[int]
    TRIMMED_IDX_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_IDX_FIELD_NUMBER: _ClassVar[int]
    queue: IndexQueue
    shard: int
    last_idx: int
    trimmed_idx: int
    delivered_idx: int
    def __init__(self, queue: _Optional[_Union[IndexQueue, str]] = ..., shard: _Optional[int] = ..., last_idx: _Optional[int] = ..., trimmed_idx: _Optional[int] = ..., delivered_idx: _Optional[int] = ...) -> None: ...

class GetQueueEndsResponse(_message.Message):
    __slots__ = ("ends",)
    ENDS_FIELD_NUMBER: _ClassVar[int]
    ends: _containers.RepeatedCompositeFieldContainer[QueueEnds]
    def __init__(self, ends: _Optional[_Iterable[_Union[QueueEnds, _Mapping]]] = ...) -> None: ...

class RegistryPosition(_message.Message):
    __slots__ = ("hash", "pk")
    HASH_FIELD_NUMBER: _ClassVar[int]
    PK_FIELD_NUMBER: _ClassVar[int]
    hash: int
    pk: str
    def __init__(self, hash: _Optional[int] = ..., pk: _Optional[str] = ...) -> None: ...

class RefillRequest(_message.Message):
    __slots__ = ("client", "shard", "after", "last_idx", "limit")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LAST_IDX_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    client: str
    shard: int
    after: RegistryPosition
    last_idx: int
    limit: int
    def __init__(self, client: _Optional[str] = ..., shard: _Optional[int] = ..., after: _Optional[_Union[RegistryPosition, _Mapping]] = ..., last_idx: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class RefillResponse(_message.Message):
    __slots__ = ("elements", "next", "last_idx")
    ELEMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    LAST_IDX_FIELD_NUMBER: _ClassVar[int]
    elements: int
    next: RegistryPosition
    last_idx: int
    def __init__(self, elements: _Optional[int] = ..., next: _Optional[_Union[RegistryPosition, _Mapping]] = ..., last_idx: _Optional[int] = ...) -> None: ...

class ScanDocumentsRequest(_message.Message):
    __slots__ = ("client", "shard", "after", "epoch", "limit_bytes", "bodies")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    SHARD_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LIMIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    BODIES_FIELD_NUMBER: _ClassVar[int]
    client: str
    shard: int
    after: RegistryPosition
    epoch: int
    limit_bytes: int
    bodies: bool
    def __init__(self, client: _Optional[str] = ..., shard: _Optional[int] = ..., after: _Optional[_Union[RegistryPosition, _Mapping]] = ..., epoch: _Optional[int] = ..., limit_bytes: _Optional[int] = ..., bodies: _Optional[bool] = ...) -> None: ...

class ScanDocumentsResponse(_message.Message):
    __slots__ = ("documents", "next", "unreadable")
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    UNREADABLE_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedScalarFieldContainer[bytes]
    next: RegistryPosition
    unreadable: int
    def __init__(self, documents: _Optional[_Iterable[bytes]] = ..., next: _Optional[_Union[RegistryPosition, _Mapping]] = ..., unreadable: _Optional[int] = ...) -> None: ...

class GetDigestRequest(_message.Message):
    __slots__ = ("client", "shards")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    client: str
    shards: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, client: _Optional[str] = ..., shards: _Optional[_Iterable[int]] = ...) -> None: ...

class FailedDocument(_message.Message):
    __slots__ = ("pk", "version")
    PK_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    pk: str
    version: int
    def __init__(self, pk: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class ShardDigest(_message.Message):
    __slots__ = ("shard", "documents", "sum_a", "sum_b", "main_idx", "emergency_idx", "main_delivered_idx", "emergency_delivered_idx", "failed")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    SUM_A_FIELD_NUMBER: _ClassVar[int]
    SUM_B_FIELD_NUMBER: _ClassVar[int]
    MAIN_IDX_FIELD_NUMBER: _ClassVar[int]
    EMERGENCY_IDX_FIELD_NUMBER: _ClassVar[int]
    MAIN_DELIVERED_IDX_FIELD_NUMBER: _ClassVar[int]
    EMERGENCY_DELIVERED_IDX_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    shard: int
    documents: int
    sum_a: int
    sum_b: int
    main_idx: int
    emergency_idx: int
    main_delivered_idx: int
    emergency_delivered_idx: int
    failed: _containers.RepeatedCompositeFieldContainer[FailedDocument]
    def __init__(self, shard: _Optional[int] = ..., documents: _Optional[int] = ..., sum_a: _Optional[int] = ..., sum_b: _Optional[int] = ..., main_idx: _Optional[int] = ..., emergency_idx: _Optional[int] = ..., main_delivered_idx: _Optional[int] = ..., emergency_delivered_idx: _Optional[int] = ..., failed: _Optional[_Iterable[_Union[FailedDocument, _Mapping]]] = ...) -> None: ...

class GetDigestResponse(_message.Message):
    __slots__ = ("digests",)
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    digests: _containers.RepeatedCompositeFieldContainer[ShardDigest]
    def __init__(self, digests: _Optional[_Iterable[_Union[ShardDigest, _Mapping]]] = ...) -> None: ...
