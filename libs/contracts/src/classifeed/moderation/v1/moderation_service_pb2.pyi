from buf.validate import validate_pb2 as _validate_pb2
from classifeed.moderation.v1 import offer_texts_pb2 as _offer_texts_pb2
from classifeed.moderation.v1 import subject_pb2 as _subject_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AppealState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPEAL_STATE_UNSPECIFIED: _ClassVar[AppealState]
    APPEAL_STATE_OPEN: _ClassVar[AppealState]
    APPEAL_STATE_GRANTED: _ClassVar[AppealState]
    APPEAL_STATE_REFUSED: _ClassVar[AppealState]
    APPEAL_STATE_OBSOLETE: _ClassVar[AppealState]

class FigureInterval(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FIGURE_INTERVAL_UNSPECIFIED: _ClassVar[FigureInterval]
    FIGURE_INTERVAL_HOUR: _ClassVar[FigureInterval]
    FIGURE_INTERVAL_DAY: _ClassVar[FigureInterval]
APPEAL_STATE_UNSPECIFIED: AppealState
APPEAL_STATE_OPEN: AppealState
APPEAL_STATE_GRANTED: AppealState
APPEAL_STATE_REFUSED: AppealState
APPEAL_STATE_OBSOLETE: AppealState
FIGURE_INTERVAL_UNSPECIFIED: FigureInterval
FIGURE_INTERVAL_HOUR: FigureInterval
FIGURE_INTERVAL_DAY: FigureInterval

class SubmitTextsRequest(_message.Message):
    __slots__ = ("texts",)
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    texts: _offer_texts_pb2.TextsToJudge
    def __init__(self, texts: _Optional[_Union[_offer_texts_pb2.TextsToJudge, _Mapping]] = ...) -> None: ...

class SubmitTextsResponse(_message.Message):
    __slots__ = ("subjects",)
    SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    subjects: _containers.RepeatedCompositeFieldContainer[_subject_pb2.Subject]
    def __init__(self, subjects: _Optional[_Iterable[_Union[_subject_pb2.Subject, _Mapping]]] = ...) -> None: ...

class GetSubjectRequest(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: str
    def __init__(self, key: _Optional[str] = ...) -> None: ...

class ListPendingRequest(_message.Message):
    __slots__ = ("kind", "page_size", "page_token", "region_id", "verdict")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    kind: _subject_pb2.SubjectKind
    page_size: int
    page_token: str
    region_id: int
    verdict: str
    def __init__(self, kind: _Optional[_Union[_subject_pb2.SubjectKind, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., region_id: _Optional[int] = ..., verdict: _Optional[str] = ...) -> None: ...

class ListPendingResponse(_message.Message):
    __slots__ = ("subjects", "next_page_token")
    SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    subjects: _containers.RepeatedCompositeFieldContainer[_subject_pb2.Subject]
    next_page_token: str
    def __init__(self, subjects: _Optional[_Iterable[_Union[_subject_pb2.Subject, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class KeyedVerdicts(_message.Message):
    __slots__ = ("key", "verdicts", "has_end")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    HAS_END_FIELD_NUMBER: _ClassVar[int]
    key: str
    verdicts: _containers.RepeatedCompositeFieldContainer[_subject_pb2.Verdict]
    has_end: bool
    def __init__(self, key: _Optional[str] = ..., verdicts: _Optional[_Iterable[_Union[_subject_pb2.Verdict, _Mapping]]] = ..., has_end: _Optional[bool] = ...) -> None: ...

class ApplyVerdictsRequest(_message.Message):
    __slots__ = ("texts",)
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedCompositeFieldContainer[KeyedVerdicts]
    def __init__(self, texts: _Optional[_Iterable[_Union[KeyedVerdicts, _Mapping]]] = ...) -> None: ...

class ApplyVerdictsResponse(_message.Message):
    __slots__ = ("decisions", "unknown_keys")
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_KEYS_FIELD_NUMBER: _ClassVar[int]
    decisions: _containers.RepeatedCompositeFieldContainer[_subject_pb2.Decision]
    unknown_keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, decisions: _Optional[_Iterable[_Union[_subject_pb2.Decision, _Mapping]]] = ..., unknown_keys: _Optional[_Iterable[str]] = ...) -> None: ...

class CheckTextRequest(_message.Message):
    __slots__ = ("text", "kind", "region_ids")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    REGION_IDS_FIELD_NUMBER: _ClassVar[int]
    text: str
    kind: _subject_pb2.SubjectKind
    region_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, text: _Optional[str] = ..., kind: _Optional[_Union[_subject_pb2.SubjectKind, str]] = ..., region_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class CheckTextResponse(_message.Message):
    __slots__ = ("status", "verdicts", "ban")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    BAN_FIELD_NUMBER: _ClassVar[int]
    status: _subject_pb2.ModerationStatus
    verdicts: _containers.RepeatedCompositeFieldContainer[_subject_pb2.Verdict]
    ban: _subject_pb2.Ban
    def __init__(self, status: _Optional[_Union[_subject_pb2.ModerationStatus, str]] = ..., verdicts: _Optional[_Iterable[_Union[_subject_pb2.Verdict, _Mapping]]] = ..., ban: _Optional[_Union[_subject_pb2.Ban, _Mapping]] = ...) -> None: ...

class RejudgeRequest(_message.Message):
    __slots__ = ("request_id", "kind", "dry_run")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    kind: _subject_pb2.SubjectKind
    dry_run: bool
    def __init__(self, request_id: _Optional[str] = ..., kind: _Optional[_Union[_subject_pb2.SubjectKind, str]] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class GetRejudgementRequest(_message.Message):
    __slots__ = ("request_id",)
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    def __init__(self, request_id: _Optional[str] = ...) -> None: ...

class Rejudgement(_message.Message):
    __slots__ = ("request_id", "dry_run", "judged", "changes", "done")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    JUDGED_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    dry_run: bool
    judged: int
    changes: _containers.RepeatedCompositeFieldContainer[RejudgedCount]
    done: bool
    def __init__(self, request_id: _Optional[str] = ..., dry_run: _Optional[bool] = ..., judged: _Optional[int] = ..., changes: _Optional[_Iterable[_Union[RejudgedCount, _Mapping]]] = ..., done: _Optional[bool] = ...) -> None: ...

class RejudgedCount(_message.Message):
    __slots__ = ("kind", "region_id", "rule", "status", "texts")
    KIND_FIELD_NUMBER: _ClassVar[int]
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    kind: _subject_pb2.SubjectKind
    region_id: int
    rule: str
    status: _subject_pb2.ModerationStatus
    texts: int
    def __init__(self, kind: _Optional[_Union[_subject_pb2.SubjectKind, str]] = ..., region_id: _Optional[int] = ..., rule: _Optional[str] = ..., status: _Optional[_Union[_subject_pb2.ModerationStatus, str]] = ..., texts: _Optional[int] = ...) -> None: ...

class AppealRequest(_message.Message):
    __slots__ = ("key", "author_id", "reason")
    KEY_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    key: str
    author_id: str
    reason: str
    def __init__(self, key: _Optional[str] = ..., author_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class GetAppealRequest(_message.Message):
    __slots__ = ("appeal_id",)
    APPEAL_ID_FIELD_NUMBER: _ClassVar[int]
    appeal_id: int
    def __init__(self, appeal_id: _Optional[int] = ...) -> None: ...

class AppealRecord(_message.Message):
    __slots__ = ("appeal_id", "key", "decision", "author_id", "reason", "state", "response")
    APPEAL_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    appeal_id: int
    key: str
    decision: _subject_pb2.Decision
    author_id: str
    reason: str
    state: AppealState
    response: str
    def __init__(self, appeal_id: _Optional[int] = ..., key: _Optional[str] = ..., decision: _Optional[_Union[_subject_pb2.Decision, _Mapping]] = ..., author_id: _Optional[str] = ..., reason: _Optional[str] = ..., state: _Optional[_Union[AppealState, str]] = ..., response: _Optional[str] = ...) -> None: ...

class ListAppealsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListAppealsResponse(_message.Message):
    __slots__ = ("appeals", "next_page_token")
    APPEALS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    appeals: _containers.RepeatedCompositeFieldContainer[AppealRecord]
    next_page_token: str
    def __init__(self, appeals: _Optional[_Iterable[_Union[AppealRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DecideAppealRequest(_message.Message):
    __slots__ = ("appeal_id", "status", "reviewer", "rule", "response")
    APPEAL_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REVIEWER_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    appeal_id: int
    status: _subject_pb2.ModerationStatus
    reviewer: str
    rule: str
    response: str
    def __init__(self, appeal_id: _Optional[int] = ..., status: _Optional[_Union[_subject_pb2.ModerationStatus, str]] = ..., reviewer: _Optional[str] = ..., rule: _Optional[str] = ..., response: _Optional[str] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("key", "after_decision_id", "page_size")
    KEY_FIELD_NUMBER: _ClassVar[int]
    AFTER_DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    key: str
    after_decision_id: int
    page_size: int
    def __init__(self, key: _Optional[str] = ..., after_decision_id: _Optional[int] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("decisions",)
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    decisions: _containers.RepeatedCompositeFieldContainer[_subject_pb2.Decision]
    def __init__(self, decisions: _Optional[_Iterable[_Union[_subject_pb2.Decision, _Mapping]]] = ...) -> None: ...

class GetFiguresRequest(_message.Message):
    __slots__ = ("interval", "intervals")
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    INTERVALS_FIELD_NUMBER: _ClassVar[int]
    interval: FigureInterval
    intervals: int
    def __init__(self, interval: _Optional[_Union[FigureInterval, str]] = ..., intervals: _Optional[int] = ...) -> None: ...

class Figures(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[FigureRow]
    def __init__(self, rows: _Optional[_Iterable[_Union[FigureRow, _Mapping]]] = ...) -> None: ...

class FigureRow(_message.Message):
    __slots__ = ("begin_s", "kind", "status", "dimension", "value", "decisions", "automatic", "wait_p50_s", "wait_p99_s")
    BEGIN_S_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    AUTOMATIC_FIELD_NUMBER: _ClassVar[int]
    WAIT_P50_S_FIELD_NUMBER: _ClassVar[int]
    WAIT_P99_S_FIELD_NUMBER: _ClassVar[int]
    begin_s: int
    kind: _subject_pb2.SubjectKind
    status: _subject_pb2.ModerationStatus
    dimension: str
    value: str
    decisions: int
    automatic: int
    wait_p50_s: float
    wait_p99_s: float
    def __init__(self, begin_s: _Optional[int] = ..., kind: _Optional[_Union[_subject_pb2.SubjectKind, str]] = ..., status: _Optional[_Union[_subject_pb2.ModerationStatus, str]] = ..., dimension: _Optional[str] = ..., value: _Optional[str] = ..., decisions: _Optional[int] = ..., automatic: _Optional[int] = ..., wait_p50_s: _Optional[float] = ..., wait_p99_s: _Optional[float] = ...) -> None: ...
