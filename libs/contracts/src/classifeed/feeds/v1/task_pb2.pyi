import datetime

from classifeed.feeds.v1 import load_pb2 as _load_pb2
from classifeed.feeds.v1 import offer_requests_pb2 as _offer_requests_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TaskKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_KIND_UNSPECIFIED: _ClassVar[TaskKind]
    TASK_KIND_LOAD: _ClassVar[TaskKind]
    TASK_KIND_DELETE: _ClassVar[TaskKind]

class TaskStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_STATUS_UNSPECIFIED: _ClassVar[TaskStatus]
    TASK_STATUS_IN_PROGRESS: _ClassVar[TaskStatus]
    TASK_STATUS_HELD: _ClassVar[TaskStatus]
    TASK_STATUS_SUCCEEDED: _ClassVar[TaskStatus]
    TASK_STATUS_FAILED: _ClassVar[TaskStatus]
    TASK_STATUS_SUPERSEDED: _ClassVar[TaskStatus]
    TASK_STATUS_CANCELED: _ClassVar[TaskStatus]

class TaskPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_PHASE_UNSPECIFIED: _ClassVar[TaskPhase]
    TASK_PHASE_PARSING: _ClassVar[TaskPhase]
    TASK_PHASE_SENT: _ClassVar[TaskPhase]
    TASK_PHASE_DONE: _ClassVar[TaskPhase]
TASK_KIND_UNSPECIFIED: TaskKind
TASK_KIND_LOAD: TaskKind
TASK_KIND_DELETE: TaskKind
TASK_STATUS_UNSPECIFIED: TaskStatus
TASK_STATUS_IN_PROGRESS: TaskStatus
TASK_STATUS_HELD: TaskStatus
TASK_STATUS_SUCCEEDED: TaskStatus
TASK_STATUS_FAILED: TaskStatus
TASK_STATUS_SUPERSEDED: TaskStatus
TASK_STATUS_CANCELED: TaskStatus
TASK_PHASE_UNSPECIFIED: TaskPhase
TASK_PHASE_PARSING: TaskPhase
TASK_PHASE_SENT: TaskPhase
TASK_PHASE_DONE: TaskPhase

class IssueCount(_message.Message):
    __slots__ = ("level", "kind", "code", "field", "count", "sample_external_ids", "unlisted", "further")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_EXTERNAL_IDS_FIELD_NUMBER: _ClassVar[int]
    UNLISTED_FIELD_NUMBER: _ClassVar[int]
    FURTHER_FIELD_NUMBER: _ClassVar[int]
    level: _load_pb2.IssueLevel
    kind: _load_pb2.IssueKind
    code: str
    field: str
    count: int
    sample_external_ids: _containers.RepeatedScalarFieldContainer[str]
    unlisted: int
    further: int
    def __init__(self, level: _Optional[_Union[_load_pb2.IssueLevel, str]] = ..., kind: _Optional[_Union[_load_pb2.IssueKind, str]] = ..., code: _Optional[str] = ..., field: _Optional[str] = ..., count: _Optional[int] = ..., sample_external_ids: _Optional[_Iterable[str]] = ..., unlisted: _Optional[int] = ..., further: _Optional[int] = ...) -> None: ...

class StageTime(_message.Message):
    __slots__ = ("stage", "duration")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    stage: str
    duration: _duration_pb2.Duration
    def __init__(self, stage: _Optional[str] = ..., duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class FeedStatistics(_message.Message):
    __slots__ = ("total", "added", "updated", "unchanged", "removed", "made_manual", "rejected_validation", "rejected_moderation", "skipped", "duplicates", "errors", "warnings", "issues", "bytes", "stages", "offers_per_second", "rejected_existing")
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    MADE_MANUAL_FIELD_NUMBER: _ClassVar[int]
    REJECTED_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    REJECTED_MODERATION_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    ISSUES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    OFFERS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    REJECTED_EXISTING_FIELD_NUMBER: _ClassVar[int]
    total: int
    added: int
    updated: int
    unchanged: int
    removed: int
    made_manual: int
    rejected_validation: int
    rejected_moderation: int
    skipped: int
    duplicates: int
    errors: int
    warnings: int
    issues: _containers.RepeatedCompositeFieldContainer[IssueCount]
    bytes: int
    stages: _containers.RepeatedCompositeFieldContainer[StageTime]
    offers_per_second: float
    rejected_existing: int
    def __init__(self, total: _Optional[int] = ..., added: _Optional[int] = ..., updated: _Optional[int] = ..., unchanged: _Optional[int] = ..., removed: _Optional[int] = ..., made_manual: _Optional[int] = ..., rejected_validation: _Optional[int] = ..., rejected_moderation: _Optional[int] = ..., skipped: _Optional[int] = ..., duplicates: _Optional[int] = ..., errors: _Optional[int] = ..., warnings: _Optional[int] = ..., issues: _Optional[_Iterable[_Union[IssueCount, _Mapping]]] = ..., bytes: _Optional[int] = ..., stages: _Optional[_Iterable[_Union[StageTime, _Mapping]]] = ..., offers_per_second: _Optional[float] = ..., rejected_existing: _Optional[int] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("name", "seller_id", "namespace", "task_id", "kind", "status", "phase", "run", "mode", "disposition", "source_sha256", "source_bytes", "file_name", "error_code", "error_message", "error_line", "error_column", "statistics", "format", "expected_total", "create_time", "update_time", "end_time", "upload_id", "warnings", "fetch", "feed_version", "hold", "decision", "rerun_of")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_SHA256_FIELD_NUMBER: _ClassVar[int]
    SOURCE_BYTES_FIELD_NUMBER: _ClassVar[int]
    FILE_NAME_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ERROR_LINE_FIELD_NUMBER: _ClassVar[int]
    ERROR_COLUMN_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    FETCH_FIELD_NUMBER: _ClassVar[int]
    FEED_VERSION_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    RERUN_OF_FIELD_NUMBER: _ClassVar[int]
    name: str
    seller_id: str
    namespace: str
    task_id: int
    kind: TaskKind
    status: TaskStatus
    phase: TaskPhase
    run: int
    mode: _load_pb2.LoadMode
    disposition: _load_pb2.Disposition
    source_sha256: str
    source_bytes: int
    file_name: str
    error_code: str
    error_message: str
    error_line: int
    error_column: int
    statistics: FeedStatistics
    format: str
    expected_total: int
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    upload_id: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    fetch: str
    feed_version: int
    hold: _load_pb2.LoadHold
    decision: _offer_requests_pb2.HoldDecision
    rerun_of: str
    def __init__(self, name: _Optional[str] = ..., seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., task_id: _Optional[int] = ..., kind: _Optional[_Union[TaskKind, str]] = ..., status: _Optional[_Union[TaskStatus, str]] = ..., phase: _Optional[_Union[TaskPhase, str]] = ..., run: _Optional[int] = ..., mode: _Optional[_Union[_load_pb2.LoadMode, str]] = ..., disposition: _Optional[_Union[_load_pb2.Disposition, str]] = ..., source_sha256: _Optional[str] = ..., source_bytes: _Optional[int] = ..., file_name: _Optional[str] = ..., error_code: _Optional[str] = ..., error_message: _Optional[str] = ..., error_line: _Optional[int] = ..., error_column: _Optional[int] = ..., statistics: _Optional[_Union[FeedStatistics, _Mapping]] = ..., format: _Optional[str] = ..., expected_total: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., upload_id: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ..., fetch: _Optional[str] = ..., feed_version: _Optional[int] = ..., hold: _Optional[_Union[_load_pb2.LoadHold, _Mapping]] = ..., decision: _Optional[_Union[_offer_requests_pb2.HoldDecision, str]] = ..., rerun_of: _Optional[str] = ...) -> None: ...
