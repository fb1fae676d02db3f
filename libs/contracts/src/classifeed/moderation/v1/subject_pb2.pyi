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

class SubjectKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUBJECT_KIND_UNSPECIFIED: _ClassVar[SubjectKind]
    SUBJECT_KIND_POINT: _ClassVar[SubjectKind]
    SUBJECT_KIND_COMMENT: _ClassVar[SubjectKind]
    SUBJECT_KIND_OFFER: _ClassVar[SubjectKind]

class ModerationStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODERATION_STATUS_UNSPECIFIED: _ClassVar[ModerationStatus]
    MODERATION_STATUS_PENDING: _ClassVar[ModerationStatus]
    MODERATION_STATUS_APPROVED: _ClassVar[ModerationStatus]
    MODERATION_STATUS_DISAPPROVED: _ClassVar[ModerationStatus]

class AuthorRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUTHOR_ROLE_UNSPECIFIED: _ClassVar[AuthorRole]
    AUTHOR_ROLE_USER: _ClassVar[AuthorRole]
    AUTHOR_ROLE_PARTNER: _ClassVar[AuthorRole]
    AUTHOR_ROLE_MODERATOR: _ClassVar[AuthorRole]
    AUTHOR_ROLE_EXPERT: _ClassVar[AuthorRole]

class DecisionMaker(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_MAKER_UNSPECIFIED: _ClassVar[DecisionMaker]
    DECISION_MAKER_RULE: _ClassVar[DecisionMaker]
    DECISION_MAKER_EXEMPTION: _ClassVar[DecisionMaker]
    DECISION_MAKER_REVIEWER: _ClassVar[DecisionMaker]
SUBJECT_KIND_UNSPECIFIED: SubjectKind
SUBJECT_KIND_POINT: SubjectKind
SUBJECT_KIND_COMMENT: SubjectKind
SUBJECT_KIND_OFFER: SubjectKind
MODERATION_STATUS_UNSPECIFIED: ModerationStatus
MODERATION_STATUS_PENDING: ModerationStatus
MODERATION_STATUS_APPROVED: ModerationStatus
MODERATION_STATUS_DISAPPROVED: ModerationStatus
AUTHOR_ROLE_UNSPECIFIED: AuthorRole
AUTHOR_ROLE_USER: AuthorRole
AUTHOR_ROLE_PARTNER: AuthorRole
AUTHOR_ROLE_MODERATOR: AuthorRole
AUTHOR_ROLE_EXPERT: AuthorRole
DECISION_MAKER_UNSPECIFIED: DecisionMaker
DECISION_MAKER_RULE: DecisionMaker
DECISION_MAKER_EXEMPTION: DecisionMaker
DECISION_MAKER_REVIEWER: DecisionMaker

class Span(_message.Message):
    __slots__ = ("start", "end", "excerpt")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    EXCERPT_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    excerpt: str
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ..., excerpt: _Optional[str] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ("name", "source", "entity", "spans", "reviewers")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    REVIEWERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    source: str
    entity: str
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    reviewers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., source: _Optional[str] = ..., entity: _Optional[str] = ..., spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ..., reviewers: _Optional[_Iterable[str]] = ...) -> None: ...

class Moderation(_message.Message):
    __slots__ = ("status", "start_time", "next_retry_time", "verdicts")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    NEXT_RETRY_TIME_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    status: ModerationStatus
    start_time: _timestamp_pb2.Timestamp
    next_retry_time: _timestamp_pb2.Timestamp
    verdicts: _containers.RepeatedCompositeFieldContainer[Verdict]
    def __init__(self, status: _Optional[_Union[ModerationStatus, str]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_retry_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., verdicts: _Optional[_Iterable[_Union[Verdict, _Mapping]]] = ...) -> None: ...

class Subject(_message.Message):
    __slots__ = ("key", "kind", "text", "text_hash", "content_version", "region_ids", "moderation", "decision")
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TEXT_HASH_FIELD_NUMBER: _ClassVar[int]
    CONTENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    REGION_IDS_FIELD_NUMBER: _ClassVar[int]
    MODERATION_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    key: str
    kind: SubjectKind
    text: str
    text_hash: bytes
    content_version: int
    region_ids: _containers.RepeatedScalarFieldContainer[int]
    moderation: Moderation
    decision: Decision
    def __init__(self, key: _Optional[str] = ..., kind: _Optional[_Union[SubjectKind, str]] = ..., text: _Optional[str] = ..., text_hash: _Optional[bytes] = ..., content_version: _Optional[int] = ..., region_ids: _Optional[_Iterable[int]] = ..., moderation: _Optional[_Union[Moderation, _Mapping]] = ..., decision: _Optional[_Union[Decision, _Mapping]] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("decision_id", "key", "kind", "content_version", "status", "verdicts", "rule", "rule_set", "region_id", "maker", "reviewer", "applied", "not_applied_reason", "supersedes_id", "decide_time", "record_time", "tags_before", "tags_after", "request_id", "automatic")
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CONTENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    RULE_SET_FIELD_NUMBER: _ClassVar[int]
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    MAKER_FIELD_NUMBER: _ClassVar[int]
    REVIEWER_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    NOT_APPLIED_REASON_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_ID_FIELD_NUMBER: _ClassVar[int]
    DECIDE_TIME_FIELD_NUMBER: _ClassVar[int]
    RECORD_TIME_FIELD_NUMBER: _ClassVar[int]
    TAGS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    TAGS_AFTER_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    AUTOMATIC_FIELD_NUMBER: _ClassVar[int]
    decision_id: int
    key: str
    kind: SubjectKind
    content_version: int
    status: ModerationStatus
    verdicts: _containers.RepeatedCompositeFieldContainer[Verdict]
    rule: str
    rule_set: str
    region_id: int
    maker: DecisionMaker
    reviewer: str
    applied: bool
    not_applied_reason: str
    supersedes_id: int
    decide_time: _timestamp_pb2.Timestamp
    record_time: _timestamp_pb2.Timestamp
    tags_before: Tags
    tags_after: Tags
    request_id: str
    automatic: bool
    def __init__(self, decision_id: _Optional[int] = ..., key: _Optional[str] = ..., kind: _Optional[_Union[SubjectKind, str]] = ..., content_version: _Optional[int] = ..., status: _Optional[_Union[ModerationStatus, str]] = ..., verdicts: _Optional[_Iterable[_Union[Verdict, _Mapping]]] = ..., rule: _Optional[str] = ..., rule_set: _Optional[str] = ..., region_id: _Optional[int] = ..., maker: _Optional[_Union[DecisionMaker, str]] = ..., reviewer: _Optional[str] = ..., applied: _Optional[bool] = ..., not_applied_reason: _Optional[str] = ..., supersedes_id: _Optional[int] = ..., decide_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., record_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tags_before: _Optional[_Union[Tags, _Mapping]] = ..., tags_after: _Optional[_Union[Tags, _Mapping]] = ..., request_id: _Optional[str] = ..., automatic: _Optional[bool] = ...) -> None: ...

class Tags(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class Ban(_message.Message):
    __slots__ = ("rule", "field", "span", "message", "suggestion", "rule_set")
    RULE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    SPAN_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SUGGESTION_FIELD_NUMBER: _ClassVar[int]
    RULE_SET_FIELD_NUMBER: _ClassVar[int]
    rule: str
    field: str
    span: Span
    message: str
    suggestion: str
    rule_set: str
    def __init__(self, rule: _Optional[str] = ..., field: _Optional[str] = ..., span: _Optional[_Union[Span, _Mapping]] = ..., message: _Optional[str] = ..., suggestion: _Optional[str] = ..., rule_set: _Optional[str] = ...) -> None: ...
