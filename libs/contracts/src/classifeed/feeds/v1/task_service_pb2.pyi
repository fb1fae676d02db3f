import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.feeds.v1 import format_pb2 as _format_pb2
from classifeed.feeds.v1 import load_pb2 as _load_pb2
from classifeed.feeds.v1 import task_pb2 as _task_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExportFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPORT_FORMAT_UNSPECIFIED: _ClassVar[ExportFormat]
    EXPORT_FORMAT_CSV: _ClassVar[ExportFormat]
    EXPORT_FORMAT_XLSX: _ClassVar[ExportFormat]
EXPORT_FORMAT_UNSPECIFIED: ExportFormat
EXPORT_FORMAT_CSV: ExportFormat
EXPORT_FORMAT_XLSX: ExportFormat

class CreateTaskRequest(_message.Message):
    __slots__ = ("seller_id", "namespace", "upload_id", "source_sha256", "source_bytes", "file_name", "mode", "disposition", "kind", "feed_version", "feed_loader_task_id", "feed_loader_result_id", "format", "default_currency", "skip_if_loaded", "allow_removals", "allow_changes")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_SHA256_FIELD_NUMBER: _ClassVar[int]
    SOURCE_BYTES_FIELD_NUMBER: _ClassVar[int]
    FILE_NAME_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FEED_VERSION_FIELD_NUMBER: _ClassVar[int]
    FEED_LOADER_TASK_ID_FIELD_NUMBER: _ClassVar[int]
    FEED_LOADER_RESULT_ID_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_CURRENCY_FIELD_NUMBER: _ClassVar[int]
    SKIP_IF_LOADED_FIELD_NUMBER: _ClassVar[int]
    ALLOW_REMOVALS_FIELD_NUMBER: _ClassVar[int]
    ALLOW_CHANGES_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    upload_id: str
    source_sha256: str
    source_bytes: int
    file_name: str
    mode: _load_pb2.LoadMode
    disposition: _load_pb2.Disposition
    kind: _task_pb2.TaskKind
    feed_version: int
    feed_loader_task_id: int
    feed_loader_result_id: int
    format: str
    default_currency: str
    skip_if_loaded: bool
    allow_removals: bool
    allow_changes: bool
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., upload_id: _Optional[str] = ..., source_sha256: _Optional[str] = ..., source_bytes: _Optional[int] = ..., file_name: _Optional[str] = ..., mode: _Optional[_Union[_load_pb2.LoadMode, str]] = ..., disposition: _Optional[_Union[_load_pb2.Disposition, str]] = ..., kind: _Optional[_Union[_task_pb2.TaskKind, str]] = ..., feed_version: _Optional[int] = ..., feed_loader_task_id: _Optional[int] = ..., feed_loader_result_id: _Optional[int] = ..., format: _Optional[str] = ..., default_currency: _Optional[str] = ..., skip_if_loaded: _Optional[bool] = ..., allow_removals: _Optional[bool] = ..., allow_changes: _Optional[bool] = ...) -> None: ...

class GetTaskRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ConfirmTaskRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RejectTaskRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class CancelTaskRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RerunTaskRequest(_message.Message):
    __slots__ = ("name", "request_id", "allow_removals", "allow_changes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOW_REMOVALS_FIELD_NUMBER: _ClassVar[int]
    ALLOW_CHANGES_FIELD_NUMBER: _ClassVar[int]
    name: str
    request_id: str
    allow_removals: bool
    allow_changes: bool
    def __init__(self, name: _Optional[str] = ..., request_id: _Optional[str] = ..., allow_removals: _Optional[bool] = ..., allow_changes: _Optional[bool] = ...) -> None: ...

class ListTasksRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTasksResponse(_message.Message):
    __slots__ = ("tasks", "next_page_token")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[_task_pb2.Task]
    next_page_token: str
    def __init__(self, tasks: _Optional[_Iterable[_Union[_task_pb2.Task, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListOfferErrorsRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token", "level", "kind", "code", "external_id", "field")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    level: _load_pb2.IssueLevel
    kind: _load_pb2.IssueKind
    code: str
    external_id: str
    field: str
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., level: _Optional[_Union[_load_pb2.IssueLevel, str]] = ..., kind: _Optional[_Union[_load_pb2.IssueKind, str]] = ..., code: _Optional[str] = ..., external_id: _Optional[str] = ..., field: _Optional[str] = ...) -> None: ...

class ListOfferErrorsResponse(_message.Message):
    __slots__ = ("errors", "next_page_token", "unlisted")
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    UNLISTED_FIELD_NUMBER: _ClassVar[int]
    errors: _containers.RepeatedCompositeFieldContainer[_load_pb2.OfferError]
    next_page_token: str
    unlisted: _containers.RepeatedCompositeFieldContainer[UnlistedIssues]
    def __init__(self, errors: _Optional[_Iterable[_Union[_load_pb2.OfferError, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., unlisted: _Optional[_Iterable[_Union[UnlistedIssues, _Mapping]]] = ...) -> None: ...

class ExportOfferErrorsRequest(_message.Message):
    __slots__ = ("parent", "format", "level", "kind", "code", "external_id", "field")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    parent: str
    format: ExportFormat
    level: _load_pb2.IssueLevel
    kind: _load_pb2.IssueKind
    code: str
    external_id: str
    field: str
    def __init__(self, parent: _Optional[str] = ..., format: _Optional[_Union[ExportFormat, str]] = ..., level: _Optional[_Union[_load_pb2.IssueLevel, str]] = ..., kind: _Optional[_Union[_load_pb2.IssueKind, str]] = ..., code: _Optional[str] = ..., external_id: _Optional[str] = ..., field: _Optional[str] = ...) -> None: ...

class ExportOfferErrorsResponse(_message.Message):
    __slots__ = ("content", "issues")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    ISSUES_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    issues: int
    def __init__(self, content: _Optional[bytes] = ..., issues: _Optional[int] = ...) -> None: ...

class UnlistedIssues(_message.Message):
    __slots__ = ("code", "count")
    CODE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    code: str
    count: int
    def __init__(self, code: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class FindTasksRequest(_message.Message):
    __slots__ = ("names", "with_tasks")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    WITH_TASKS_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    with_tasks: bool
    def __init__(self, names: _Optional[_Iterable[str]] = ..., with_tasks: _Optional[bool] = ...) -> None: ...

class FindTasksResponse(_message.Message):
    __slots__ = ("names", "tasks")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    tasks: _containers.RepeatedCompositeFieldContainer[_task_pb2.Task]
    def __init__(self, names: _Optional[_Iterable[str]] = ..., tasks: _Optional[_Iterable[_Union[_task_pb2.Task, _Mapping]]] = ...) -> None: ...

class LocateOfferRequest(_message.Message):
    __slots__ = ("parent", "external_id")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    parent: str
    external_id: str
    def __init__(self, parent: _Optional[str] = ..., external_id: _Optional[str] = ...) -> None: ...

class OfferPlace(_message.Message):
    __slots__ = ("ordinal", "line", "column", "excerpt")
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    EXCERPT_FIELD_NUMBER: _ClassVar[int]
    ordinal: int
    line: int
    column: int
    excerpt: str
    def __init__(self, ordinal: _Optional[int] = ..., line: _Optional[int] = ..., column: _Optional[int] = ..., excerpt: _Optional[str] = ...) -> None: ...

class OfferLocation(_message.Message):
    __slots__ = ("places", "batch_id", "send_time", "answer_time", "check_time")
    PLACES_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    SEND_TIME_FIELD_NUMBER: _ClassVar[int]
    ANSWER_TIME_FIELD_NUMBER: _ClassVar[int]
    CHECK_TIME_FIELD_NUMBER: _ClassVar[int]
    places: _containers.RepeatedCompositeFieldContainer[OfferPlace]
    batch_id: int
    send_time: _timestamp_pb2.Timestamp
    answer_time: _timestamp_pb2.Timestamp
    check_time: _timestamp_pb2.Timestamp
    def __init__(self, places: _Optional[_Iterable[_Union[OfferPlace, _Mapping]]] = ..., batch_id: _Optional[int] = ..., send_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., answer_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., check_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
