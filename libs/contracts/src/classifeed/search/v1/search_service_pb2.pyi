import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.documents.v1 import document_pb2 as _document_pb2
from classifeed.documents.v1 import receiver_service_pb2 as _receiver_service_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Filter(_message.Message):
    __slots__ = ("field", "terms", "range")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    field: str
    terms: Terms
    range: Range
    def __init__(self, field: _Optional[str] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ..., range: _Optional[_Union[Range, _Mapping]] = ...) -> None: ...

class Terms(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[_document_pb2.Value]
    def __init__(self, values: _Optional[_Iterable[_Union[_document_pb2.Value, _Mapping]]] = ...) -> None: ...

class Range(_message.Message):
    __slots__ = ("to",)
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    to: _document_pb2.Value
    def __init__(self, to: _Optional[_Union[_document_pb2.Value, _Mapping]] = ..., **kwargs) -> None: ...

class Sort(_message.Message):
    __slots__ = ("field", "descending")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DESCENDING_FIELD_NUMBER: _ClassVar[int]
    field: str
    descending: bool
    def __init__(self, field: _Optional[str] = ..., descending: _Optional[bool] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("client", "query", "filters", "sort", "page_size", "page_token", "at_least", "conditions", "bodies")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    BODIES_FIELD_NUMBER: _ClassVar[int]
    client: str
    query: str
    filters: _containers.RepeatedCompositeFieldContainer[Filter]
    sort: Sort
    page_size: int
    page_token: str
    at_least: _containers.RepeatedCompositeFieldContainer[_receiver_service_pb2.ShardPosition]
    conditions: _containers.RepeatedScalarFieldContainer[str]
    bodies: bool
    def __init__(self, client: _Optional[str] = ..., query: _Optional[str] = ..., filters: _Optional[_Iterable[_Union[Filter, _Mapping]]] = ..., sort: _Optional[_Union[Sort, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., at_least: _Optional[_Iterable[_Union[_receiver_service_pb2.ShardPosition, _Mapping]]] = ..., conditions: _Optional[_Iterable[str]] = ..., bodies: _Optional[bool] = ...) -> None: ...

class Hit(_message.Message):
    __slots__ = ("pk", "version", "score", "fields", "compose_time", "index_time", "body")
    PK_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    COMPOSE_TIME_FIELD_NUMBER: _ClassVar[int]
    INDEX_TIME_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    pk: str
    version: int
    score: float
    fields: _containers.RepeatedCompositeFieldContainer[_document_pb2.Field]
    compose_time: _timestamp_pb2.Timestamp
    index_time: _timestamp_pb2.Timestamp
    body: str
    def __init__(self, pk: _Optional[str] = ..., version: _Optional[int] = ..., score: _Optional[float] = ..., fields: _Optional[_Iterable[_Union[_document_pb2.Field, _Mapping]]] = ..., compose_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., index_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., body: _Optional[str] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("hits", "total", "next_page_token", "hint")
    HITS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[Hit]
    total: int
    next_page_token: str
    hint: Hint
    def __init__(self, hits: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., total: _Optional[int] = ..., next_page_token: _Optional[str] = ..., hint: _Optional[_Union[Hint, _Mapping]] = ...) -> None: ...

class Hint(_message.Message):
    __slots__ = ("unmatched", "left_out", "query", "total")
    UNMATCHED_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    unmatched: _containers.RepeatedScalarFieldContainer[str]
    left_out: _containers.RepeatedScalarFieldContainer[str]
    query: str
    total: int
    def __init__(self, unmatched: _Optional[_Iterable[str]] = ..., left_out: _Optional[_Iterable[str]] = ..., query: _Optional[str] = ..., total: _Optional[int] = ...) -> None: ...

class GetDocumentRequest(_message.Message):
    __slots__ = ("client", "pk", "bodies")
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    PK_FIELD_NUMBER: _ClassVar[int]
    BODIES_FIELD_NUMBER: _ClassVar[int]
    client: str
    pk: str
    bodies: bool
    def __init__(self, client: _Optional[str] = ..., pk: _Optional[str] = ..., bodies: _Optional[bool] = ...) -> None: ...

class GetIndexStatusRequest(_message.Message):
    __slots__ = ("client",)
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    client: str
    def __init__(self, client: _Optional[str] = ...) -> None: ...

class IndexStatus(_message.Message):
    __slots__ = ("documents", "positions", "rebuild", "equal_shards", "differing_shards", "catch_up_records")
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    REBUILD_FIELD_NUMBER: _ClassVar[int]
    EQUAL_SHARDS_FIELD_NUMBER: _ClassVar[int]
    DIFFERING_SHARDS_FIELD_NUMBER: _ClassVar[int]
    CATCH_UP_RECORDS_FIELD_NUMBER: _ClassVar[int]
    documents: int
    positions: _containers.RepeatedCompositeFieldContainer[_receiver_service_pb2.ShardPosition]
    rebuild: IndexRebuild
    equal_shards: int
    differing_shards: _containers.RepeatedScalarFieldContainer[int]
    catch_up_records: int
    def __init__(self, documents: _Optional[int] = ..., positions: _Optional[_Iterable[_Union[_receiver_service_pb2.ShardPosition, _Mapping]]] = ..., rebuild: _Optional[_Union[IndexRebuild, _Mapping]] = ..., equal_shards: _Optional[int] = ..., differing_shards: _Optional[_Iterable[int]] = ..., catch_up_records: _Optional[int] = ...) -> None: ...

class IndexRebuild(_message.Message):
    __slots__ = ("reason", "shards", "documents", "serves_former")
    REASON_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    SERVES_FORMER_FIELD_NUMBER: _ClassVar[int]
    reason: str
    shards: int
    documents: int
    serves_former: bool
    def __init__(self, reason: _Optional[str] = ..., shards: _Optional[int] = ..., documents: _Optional[int] = ..., serves_former: _Optional[bool] = ...) -> None: ...

class GetDigestRequest(_message.Message):
    __slots__ = ("client",)
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    client: str
    def __init__(self, client: _Optional[str] = ...) -> None: ...

class IndexShardDigest(_message.Message):
    __slots__ = ("shard", "documents", "sum_a", "sum_b", "main_idx", "emergency_idx")
    SHARD_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    SUM_A_FIELD_NUMBER: _ClassVar[int]
    SUM_B_FIELD_NUMBER: _ClassVar[int]
    MAIN_IDX_FIELD_NUMBER: _ClassVar[int]
    EMERGENCY_IDX_FIELD_NUMBER: _ClassVar[int]
    shard: int
    documents: int
    sum_a: int
    sum_b: int
    main_idx: int
    emergency_idx: int
    def __init__(self, shard: _Optional[int] = ..., documents: _Optional[int] = ..., sum_a: _Optional[int] = ..., sum_b: _Optional[int] = ..., main_idx: _Optional[int] = ..., emergency_idx: _Optional[int] = ...) -> None: ...

class GetDigestResponse(_message.Message):
    __slots__ = ("digests",)
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    digests: _containers.RepeatedCompositeFieldContainer[IndexShardDigest]
    def __init__(self, digests: _Optional[_Iterable[_Union[IndexShardDigest, _Mapping]]] = ...) -> None: ...
