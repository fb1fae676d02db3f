from classifeed.feeds.v1 import load_pb2 as _load_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IssueBlockContent(_message.Message):
    __slots__ = ("errors",)
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    errors: _containers.RepeatedCompositeFieldContainer[_load_pb2.OfferError]
    def __init__(self, errors: _Optional[_Iterable[_Union[_load_pb2.OfferError, _Mapping]]] = ...) -> None: ...

class IssueTopic(_message.Message):
    __slots__ = ("kind", "code", "field")
    KIND_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    kind: _load_pb2.IssueKind
    code: str
    field: str
    def __init__(self, kind: _Optional[_Union[_load_pb2.IssueKind, str]] = ..., code: _Optional[str] = ..., field: _Optional[str] = ...) -> None: ...

class IssueBlock(_message.Message):
    __slots__ = ("level", "first_ordinal", "last_ordinal", "count", "ids", "topics", "offset", "size_bytes", "sha256")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    FIRST_ORDINAL_FIELD_NUMBER: _ClassVar[int]
    LAST_ORDINAL_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    level: _load_pb2.IssueLevel
    first_ordinal: int
    last_ordinal: int
    count: int
    ids: bytes
    topics: _containers.RepeatedCompositeFieldContainer[IssueTopic]
    offset: int
    size_bytes: int
    sha256: bytes
    def __init__(self, level: _Optional[_Union[_load_pb2.IssueLevel, str]] = ..., first_ordinal: _Optional[int] = ..., last_ordinal: _Optional[int] = ..., count: _Optional[int] = ..., ids: _Optional[bytes] = ..., topics: _Optional[_Iterable[_Union[IssueTopic, _Mapping]]] = ..., offset: _Optional[int] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class IssueIndex(_message.Message):
    __slots__ = ("blocks",)
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    blocks: _containers.RepeatedCompositeFieldContainer[IssueBlock]
    def __init__(self, blocks: _Optional[_Iterable[_Union[IssueBlock, _Mapping]]] = ...) -> None: ...
