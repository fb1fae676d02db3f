import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.documents.v1 import document_pb2 as _document_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import error_details_pb2 as _error_details_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PushOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PUSH_OUTCOME_UNSPECIFIED: _ClassVar[PushOutcome]
    PUSH_OUTCOME_ACK: _ClassVar[PushOutcome]
    PUSH_OUTCOME_STALE: _ClassVar[PushOutcome]
    PUSH_OUTCOME_INVALID: _ClassVar[PushOutcome]
    PUSH_OUTCOME_EPOCH_TOO_OLD: _ClassVar[PushOutcome]
    PUSH_OUTCOME_RETRY: _ClassVar[PushOutcome]
PUSH_OUTCOME_UNSPECIFIED: PushOutcome
PUSH_OUTCOME_ACK: PushOutcome
PUSH_OUTCOME_STALE: PushOutcome
PUSH_OUTCOME_INVALID: PushOutcome
PUSH_OUTCOME_EPOCH_TOO_OLD: PushOutcome
PUSH_OUTCOME_RETRY: PushOutcome

class PushResult(_message.Message):
    __slots__ = ("outcome", "violations", "current_epoch", "stored_version", "stored_epoch")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    CURRENT_EPOCH_FIELD_NUMBER: _ClassVar[int]
    STORED_VERSION_FIELD_NUMBER: _ClassVar[int]
    STORED_EPOCH_FIELD_NUMBER: _ClassVar[int]
    outcome: PushOutcome
    violations: _error_details_pb2.BadRequest
    current_epoch: int
    stored_version: int
    stored_epoch: int
    def __init__(self, outcome: _Optional[_Union[PushOutcome, str]] = ..., violations: _Optional[_Union[_error_details_pb2.BadRequest, _Mapping]] = ..., current_epoch: _Optional[int] = ..., stored_version: _Optional[int] = ..., stored_epoch: _Optional[int] = ...) -> None: ...

class ShardPosition(_message.Message):
    __slots__ = ("shard", "idx")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    IDX_FIELD_NUMBER: _ClassVar[int]
    shard: int
    idx: int
    def __init__(self, shard: _Optional[int] = ..., idx: _Optional[int] = ...) -> None: ...

class PushRequest(_message.Message):
    __slots__ = ("client", "document")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    client: str
    document: _document_pb2.RawDocument
    def __init__(self, client: _Optional[str] = ..., document: _Optional[_Union[_document_pb2.RawDocument, _Mapping]] = ...) -> None: ...

class PushResponse(_message.Message):
    __slots__ = ("result", "position")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    result: PushResult
    position: ShardPosition
    def __init__(self, result: _Optional[_Union[PushResult, _Mapping]] = ..., position: _Optional[_Union[ShardPosition, _Mapping]] = ...) -> None: ...

class PushBatchRequest(_message.Message):
    __slots__ = ("client", "documents", "known_positions", "traces")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    KNOWN_POSITIONS_FIELD_NUMBER: _ClassVar[int]
    TRACES_FIELD_NUMBER: _ClassVar[int]
    client: str
    documents: _containers.RepeatedCompositeFieldContainer[_document_pb2.RawDocument]
    known_positions: _containers.RepeatedCompositeFieldContainer[ShardPosition]
    traces: _containers.RepeatedCompositeFieldContainer[DocumentTrace]
    def __init__(self, client: _Optional[str] = ..., documents: _Optional[_Iterable[_Union[_document_pb2.RawDocument, _Mapping]]] = ..., known_positions: _Optional[_Iterable[_Union[ShardPosition, _Mapping]]] = ..., traces: _Optional[_Iterable[_Union[DocumentTrace, _Mapping]]] = ...) -> None: ...

class DocumentTrace(_message.Message):
    __slots__ = ("document", "traceparent")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    document: int
    traceparent: str
    def __init__(self, document: _Optional[int] = ..., traceparent: _Optional[str] = ...) -> None: ...

class PushBatchResponse(_message.Message):
    __slots__ = ("results", "positions")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[PushResult]
    positions: _containers.RepeatedCompositeFieldContainer[ShardPosition]
    def __init__(self, results: _Optional[_Iterable[_Union[PushResult, _Mapping]]] = ..., positions: _Optional[_Iterable[_Union[ShardPosition, _Mapping]]] = ...) -> None: ...

class CheckPositionsRequest(_message.Message):
    __slots__ = ("client", "positions")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    client: str
    positions: _containers.RepeatedCompositeFieldContainer[ShardPosition]
    def __init__(self, client: _Optional[str] = ..., positions: _Optional[_Iterable[_Union[ShardPosition, _Mapping]]] = ...) -> None: ...

class CheckPositionsResponse(_message.Message):
    __slots__ = ("ends",)
    ENDS_FIELD_NUMBER: _ClassVar[int]
    ends: _containers.RepeatedCompositeFieldContainer[ShardPosition]
    def __init__(self, ends: _Optional[_Iterable[_Union[ShardPosition, _Mapping]]] = ...) -> None: ...

class ListDocumentsRequest(_message.Message):
    __slots__ = ("client", "page_size", "page_token")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    client: str
    page_size: int
    page_token: str
    def __init__(self, client: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDocumentsResponse(_message.Message):
    __slots__ = ("documents", "next_page_token")
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[StoredDocument]
    next_page_token: str
    def __init__(self, documents: _Optional[_Iterable[_Union[StoredDocument, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class StoredDocument(_message.Message):
    __slots__ = ("pk", "epoch", "version", "timestamp", "removed")
    PK_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    pk: str
    epoch: int
    version: int
    timestamp: _timestamp_pb2.Timestamp
    removed: bool
    def __init__(self, pk: _Optional[str] = ..., epoch: _Optional[int] = ..., version: _Optional[int] = ..., timestamp: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., removed: _Optional[bool] = ...) -> None: ...
