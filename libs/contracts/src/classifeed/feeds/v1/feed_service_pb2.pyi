import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.feeds.v1 import explanation_pb2 as _explanation_pb2
from classifeed.feeds.v1 import feed_pb2 as _feed_pb2
from classifeed.feeds.v1 import feed_source_service_pb2 as _feed_source_service_pb2
from classifeed.feeds.v1 import format_pb2 as _format_pb2
from classifeed.feeds.v1 import load_pb2 as _load_pb2
from classifeed.feeds.v1 import task_pb2 as _task_pb2
from classifeed.feeds.v1 import task_service_pb2 as _task_service_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class UploadSpec(_message.Message):
    __slots__ = ("seller_id", "namespace", "mode", "disposition", "default_currency", "file_name", "request_id", "force", "size_bytes", "sha256", "allow_removals", "allow_changes")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_CURRENCY_FIELD_NUMBER: _ClassVar[int]
    FILE_NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    ALLOW_REMOVALS_FIELD_NUMBER: _ClassVar[int]
    ALLOW_CHANGES_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    mode: _load_pb2.LoadMode
    disposition: _load_pb2.Disposition
    default_currency: str
    file_name: str
    request_id: str
    force: bool
    size_bytes: int
    sha256: str
    allow_removals: bool
    allow_changes: bool
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., mode: _Optional[_Union[_load_pb2.LoadMode, str]] = ..., disposition: _Optional[_Union[_load_pb2.Disposition, str]] = ..., default_currency: _Optional[str] = ..., file_name: _Optional[str] = ..., request_id: _Optional[str] = ..., force: _Optional[bool] = ..., size_bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., allow_removals: _Optional[bool] = ..., allow_changes: _Optional[bool] = ...) -> None: ...

class UploadFeedRequest(_message.Message):
    __slots__ = ("spec", "chunk")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    spec: UploadSpec
    chunk: bytes
    def __init__(self, spec: _Optional[_Union[UploadSpec, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class Upload(_message.Message):
    __slots__ = ("name", "upload_id", "seller_id", "namespace", "sha256", "bytes", "file_name", "task", "create_time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    FILE_NAME_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    upload_id: str
    seller_id: str
    namespace: str
    sha256: str
    bytes: int
    file_name: str
    task: str
    create_time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., upload_id: _Optional[str] = ..., seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., sha256: _Optional[str] = ..., bytes: _Optional[int] = ..., file_name: _Optional[str] = ..., task: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetUploadRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class CreateFeedRequest(_message.Message):
    __slots__ = ("parent", "namespace", "settings", "request_id")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    parent: str
    namespace: str
    settings: _feed_pb2.FeedSettings
    request_id: str
    def __init__(self, parent: _Optional[str] = ..., namespace: _Optional[str] = ..., settings: _Optional[_Union[_feed_pb2.FeedSettings, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class GetFeedRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListFeedsRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListFeedsResponse(_message.Message):
    __slots__ = ("feeds", "next_page_token")
    FEEDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    feeds: _containers.RepeatedCompositeFieldContainer[_feed_pb2.Feed]
    next_page_token: str
    def __init__(self, feeds: _Optional[_Iterable[_Union[_feed_pb2.Feed, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateFeedRequest(_message.Message):
    __slots__ = ("feed", "update_mask")
    FEED_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    feed: _feed_pb2.Feed
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, feed: _Optional[_Union[_feed_pb2.Feed, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class PauseFeedRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ResumeFeedRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DeleteFeedRequest(_message.Message):
    __slots__ = ("name", "disposition", "include_manual")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_MANUAL_FIELD_NUMBER: _ClassVar[int]
    name: str
    disposition: _load_pb2.Disposition
    include_manual: bool
    def __init__(self, name: _Optional[str] = ..., disposition: _Optional[_Union[_load_pb2.Disposition, str]] = ..., include_manual: _Optional[bool] = ...) -> None: ...

class RunFeedRequest(_message.Message):
    __slots__ = ("name", "force", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    force: bool
    request_id: str
    def __init__(self, name: _Optional[str] = ..., force: _Optional[bool] = ..., request_id: _Optional[str] = ...) -> None: ...
