import datetime

from buf.validate import validate_pb2 as _validate_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FieldType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FIELD_TYPE_UNSPECIFIED: _ClassVar[FieldType]
    FIELD_TYPE_STRING: _ClassVar[FieldType]
    FIELD_TYPE_TEXT: _ClassVar[FieldType]
    FIELD_TYPE_INT: _ClassVar[FieldType]
    FIELD_TYPE_DOUBLE: _ClassVar[FieldType]
    FIELD_TYPE_BOOL: _ClassVar[FieldType]
    FIELD_TYPE_TIMESTAMP: _ClassVar[FieldType]
    FIELD_TYPE_GEO_POINT: _ClassVar[FieldType]

class Analyzer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANALYZER_UNSPECIFIED: _ClassVar[Analyzer]
    ANALYZER_NONE: _ClassVar[Analyzer]
    ANALYZER_RU_EN: _ClassVar[Analyzer]

class EpochState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EPOCH_STATE_UNSPECIFIED: _ClassVar[EpochState]
    EPOCH_STATE_OPEN: _ClassVar[EpochState]
    EPOCH_STATE_ACTIVE: _ClassVar[EpochState]
    EPOCH_STATE_RETIRED: _ClassVar[EpochState]
FIELD_TYPE_UNSPECIFIED: FieldType
FIELD_TYPE_STRING: FieldType
FIELD_TYPE_TEXT: FieldType
FIELD_TYPE_INT: FieldType
FIELD_TYPE_DOUBLE: FieldType
FIELD_TYPE_BOOL: FieldType
FIELD_TYPE_TIMESTAMP: FieldType
FIELD_TYPE_GEO_POINT: FieldType
ANALYZER_UNSPECIFIED: Analyzer
ANALYZER_NONE: Analyzer
ANALYZER_RU_EN: Analyzer
EPOCH_STATE_UNSPECIFIED: EpochState
EPOCH_STATE_OPEN: EpochState
EPOCH_STATE_ACTIVE: EpochState
EPOCH_STATE_RETIRED: EpochState

class FieldSchema(_message.Message):
    __slots__ = ("name", "type", "repeated", "required", "indexed", "stored", "facet", "sortable", "analyzer", "boost")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    STORED_FIELD_NUMBER: _ClassVar[int]
    FACET_FIELD_NUMBER: _ClassVar[int]
    SORTABLE_FIELD_NUMBER: _ClassVar[int]
    ANALYZER_FIELD_NUMBER: _ClassVar[int]
    BOOST_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: FieldType
    repeated: bool
    required: bool
    indexed: bool
    stored: bool
    facet: bool
    sortable: bool
    analyzer: Analyzer
    boost: float
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[FieldType, str]] = ..., repeated: _Optional[bool] = ..., required: _Optional[bool] = ..., indexed: _Optional[bool] = ..., stored: _Optional[bool] = ..., facet: _Optional[bool] = ..., sortable: _Optional[bool] = ..., analyzer: _Optional[_Union[Analyzer, str]] = ..., boost: _Optional[float] = ...) -> None: ...

class EmbeddingSchema(_message.Message):
    __slots__ = ("name", "dimension")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    dimension: int
    def __init__(self, name: _Optional[str] = ..., dimension: _Optional[int] = ...) -> None: ...

class Schema(_message.Message):
    __slots__ = ("client", "epoch", "fields", "embeddings", "state", "create_time")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    client: str
    epoch: int
    fields: _containers.RepeatedCompositeFieldContainer[FieldSchema]
    embeddings: _containers.RepeatedCompositeFieldContainer[EmbeddingSchema]
    state: EpochState
    create_time: _timestamp_pb2.Timestamp
    def __init__(self, client: _Optional[str] = ..., epoch: _Optional[int] = ..., fields: _Optional[_Iterable[_Union[FieldSchema, _Mapping]]] = ..., embeddings: _Optional[_Iterable[_Union[EmbeddingSchema, _Mapping]]] = ..., state: _Optional[_Union[EpochState, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
