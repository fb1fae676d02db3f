import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.feeds.v1 import feed_pb2 as _feed_pb2
from classifeed.feeds.v1 import load_pb2 as _load_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SourceRecord(_message.Message):
    __slots__ = ("seller_id", "namespace", "feed_version", "status", "url", "sealed_credentials", "interval", "mode", "disposition", "format", "default_currency")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FEED_VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    SEALED_CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_CURRENCY_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    feed_version: int
    status: _feed_pb2.FeedStatus
    url: str
    sealed_credentials: bytes
    interval: _duration_pb2.Duration
    mode: _load_pb2.LoadMode
    disposition: _load_pb2.Disposition
    format: str
    default_currency: str
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., feed_version: _Optional[int] = ..., status: _Optional[_Union[_feed_pb2.FeedStatus, str]] = ..., url: _Optional[str] = ..., sealed_credentials: _Optional[bytes] = ..., interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., mode: _Optional[_Union[_load_pb2.LoadMode, str]] = ..., disposition: _Optional[_Union[_load_pb2.Disposition, str]] = ..., format: _Optional[str] = ..., default_currency: _Optional[str] = ...) -> None: ...

class PutSourcesRequest(_message.Message):
    __slots__ = ("sources",)
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[SourceRecord]
    def __init__(self, sources: _Optional[_Iterable[_Union[SourceRecord, _Mapping]]] = ...) -> None: ...

class PutSourcesResponse(_message.Message):
    __slots__ = ("feed_versions",)
    FEED_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    feed_versions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, feed_versions: _Optional[_Iterable[int]] = ...) -> None: ...

class RunSourceRequest(_message.Message):
    __slots__ = ("source", "force", "request_id")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    source: SourceRecord
    force: bool
    request_id: str
    def __init__(self, source: _Optional[_Union[SourceRecord, _Mapping]] = ..., force: _Optional[bool] = ..., request_id: _Optional[str] = ...) -> None: ...

class GetSourceStatesRequest(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class GetSourceStatesResponse(_message.Message):
    __slots__ = ("states",)
    STATES_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedCompositeFieldContainer[_feed_pb2.FeedSourceState]
    def __init__(self, states: _Optional[_Iterable[_Union[_feed_pb2.FeedSourceState, _Mapping]]] = ...) -> None: ...

class ListSourcesRequest(_message.Message):
    __slots__ = ("page_size", "after")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    after: str
    def __init__(self, page_size: _Optional[int] = ..., after: _Optional[str] = ...) -> None: ...

class ListSourcesResponse(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class GetFetchRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListFetchesRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListFetchesResponse(_message.Message):
    __slots__ = ("fetches", "next_page_token")
    FETCHES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    fetches: _containers.RepeatedCompositeFieldContainer[_feed_pb2.Fetch]
    next_page_token: str
    def __init__(self, fetches: _Optional[_Iterable[_Union[_feed_pb2.Fetch, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
