import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.feeds.v1 import load_pb2 as _load_pb2
from classifeed.feeds.v1 import task_pb2 as _task_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FeedStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FEED_STATUS_UNSPECIFIED: _ClassVar[FeedStatus]
    FEED_STATUS_ACTIVE: _ClassVar[FeedStatus]
    FEED_STATUS_PAUSED: _ClassVar[FeedStatus]
    FEED_STATUS_REMOVED: _ClassVar[FeedStatus]

class FetchTrigger(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FETCH_TRIGGER_UNSPECIFIED: _ClassVar[FetchTrigger]
    FETCH_TRIGGER_SCHEDULE: _ClassVar[FetchTrigger]
    FETCH_TRIGGER_REQUEST: _ClassVar[FetchTrigger]

class FetchOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FETCH_OUTCOME_UNSPECIFIED: _ClassVar[FetchOutcome]
    FETCH_OUTCOME_QUEUED: _ClassVar[FetchOutcome]
    FETCH_OUTCOME_RUNNING: _ClassVar[FetchOutcome]
    FETCH_OUTCOME_LOADED: _ClassVar[FetchOutcome]
    FETCH_OUTCOME_NOT_MODIFIED: _ClassVar[FetchOutcome]
    FETCH_OUTCOME_SAME_CONTENT: _ClassVar[FetchOutcome]
    FETCH_OUTCOME_FAILED: _ClassVar[FetchOutcome]
    FETCH_OUTCOME_DROPPED: _ClassVar[FetchOutcome]
FEED_STATUS_UNSPECIFIED: FeedStatus
FEED_STATUS_ACTIVE: FeedStatus
FEED_STATUS_PAUSED: FeedStatus
FEED_STATUS_REMOVED: FeedStatus
FETCH_TRIGGER_UNSPECIFIED: FetchTrigger
FETCH_TRIGGER_SCHEDULE: FetchTrigger
FETCH_TRIGGER_REQUEST: FetchTrigger
FETCH_OUTCOME_UNSPECIFIED: FetchOutcome
FETCH_OUTCOME_QUEUED: FetchOutcome
FETCH_OUTCOME_RUNNING: FetchOutcome
FETCH_OUTCOME_LOADED: FetchOutcome
FETCH_OUTCOME_NOT_MODIFIED: FetchOutcome
FETCH_OUTCOME_SAME_CONTENT: FetchOutcome
FETCH_OUTCOME_FAILED: FetchOutcome
FETCH_OUTCOME_DROPPED: FetchOutcome

class BasicAuth(_message.Message):
    __slots__ = ("username", "password")
    USERNAME_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    username: str
    password: str
    def __init__(self, username: _Optional[str] = ..., password: _Optional[str] = ...) -> None: ...

class FeedCredentials(_message.Message):
    __slots__ = ("basic_auth", "headers")
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    BASIC_AUTH_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    basic_auth: BasicAuth
    headers: _containers.ScalarMap[str, str]
    def __init__(self, basic_auth: _Optional[_Union[BasicAuth, _Mapping]] = ..., headers: _Optional[_Mapping[str, str]] = ...) -> None: ...

class FeedSource(_message.Message):
    __slots__ = ("url", "credentials", "has_credentials")
    URL_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    HAS_CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    url: str
    credentials: FeedCredentials
    has_credentials: bool
    def __init__(self, url: _Optional[str] = ..., credentials: _Optional[_Union[FeedCredentials, _Mapping]] = ..., has_credentials: _Optional[bool] = ...) -> None: ...

class FeedSchedule(_message.Message):
    __slots__ = ("interval",)
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    interval: _duration_pb2.Duration
    def __init__(self, interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class FeedSettings(_message.Message):
    __slots__ = ("source", "schedule", "mode", "disposition", "format", "default_currency")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_CURRENCY_FIELD_NUMBER: _ClassVar[int]
    source: FeedSource
    schedule: FeedSchedule
    mode: _load_pb2.LoadMode
    disposition: _load_pb2.Disposition
    format: str
    default_currency: str
    def __init__(self, source: _Optional[_Union[FeedSource, _Mapping]] = ..., schedule: _Optional[_Union[FeedSchedule, _Mapping]] = ..., mode: _Optional[_Union[_load_pb2.LoadMode, str]] = ..., disposition: _Optional[_Union[_load_pb2.Disposition, str]] = ..., format: _Optional[str] = ..., default_currency: _Optional[str] = ...) -> None: ...

class Feed(_message.Message):
    __slots__ = ("name", "seller_id", "namespace", "version", "status", "settings", "create_time", "update_time", "state")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    name: str
    seller_id: str
    namespace: str
    version: int
    status: FeedStatus
    settings: FeedSettings
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    state: FeedSourceState
    def __init__(self, name: _Optional[str] = ..., seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., version: _Optional[int] = ..., status: _Optional[_Union[FeedStatus, str]] = ..., settings: _Optional[_Union[FeedSettings, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., state: _Optional[_Union[FeedSourceState, _Mapping]] = ...) -> None: ...

class FeedSourceState(_message.Message):
    __slots__ = ("feed_version", "last_fetch_time", "next_fetch_time", "failures", "last_fetch")
    FEED_VERSION_FIELD_NUMBER: _ClassVar[int]
    LAST_FETCH_TIME_FIELD_NUMBER: _ClassVar[int]
    NEXT_FETCH_TIME_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    LAST_FETCH_FIELD_NUMBER: _ClassVar[int]
    feed_version: int
    last_fetch_time: _timestamp_pb2.Timestamp
    next_fetch_time: _timestamp_pb2.Timestamp
    failures: int
    last_fetch: Fetch
    def __init__(self, feed_version: _Optional[int] = ..., last_fetch_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_fetch_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., failures: _Optional[int] = ..., last_fetch: _Optional[_Union[Fetch, _Mapping]] = ...) -> None: ...

class Fetch(_message.Message):
    __slots__ = ("name", "seller_id", "namespace", "fetch_id", "feed_version", "trigger", "forced", "outcome", "code", "message", "http_status", "bytes", "sha256", "final_url", "task", "create_time", "start_time", "download_time", "end_time", "load")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FETCH_ID_FIELD_NUMBER: _ClassVar[int]
    FEED_VERSION_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    FORCED_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    FINAL_URL_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    DOWNLOAD_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    LOAD_FIELD_NUMBER: _ClassVar[int]
    name: str
    seller_id: str
    namespace: str
    fetch_id: int
    feed_version: int
    trigger: FetchTrigger
    forced: bool
    outcome: FetchOutcome
    code: str
    message: str
    http_status: int
    bytes: int
    sha256: str
    final_url: str
    task: str
    create_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    download_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    load: FetchLoad
    def __init__(self, name: _Optional[str] = ..., seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., fetch_id: _Optional[int] = ..., feed_version: _Optional[int] = ..., trigger: _Optional[_Union[FetchTrigger, str]] = ..., forced: _Optional[bool] = ..., outcome: _Optional[_Union[FetchOutcome, str]] = ..., code: _Optional[str] = ..., message: _Optional[str] = ..., http_status: _Optional[int] = ..., bytes: _Optional[int] = ..., sha256: _Optional[str] = ..., final_url: _Optional[str] = ..., task: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., download_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., load: _Optional[_Union[FetchLoad, _Mapping]] = ...) -> None: ...

class FetchLoad(_message.Message):
    __slots__ = ("status", "error_code", "error_message", "error_line", "statistics")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ERROR_LINE_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    status: _task_pb2.TaskStatus
    error_code: str
    error_message: str
    error_line: int
    statistics: _task_pb2.FeedStatistics
    def __init__(self, status: _Optional[_Union[_task_pb2.TaskStatus, str]] = ..., error_code: _Optional[str] = ..., error_message: _Optional[str] = ..., error_line: _Optional[int] = ..., statistics: _Optional[_Union[_task_pb2.FeedStatistics, _Mapping]] = ...) -> None: ...
