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

class OfferFate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OFFER_FATE_UNSPECIFIED: _ClassVar[OfferFate]
    OFFER_FATE_SEARCHABLE: _ClassVar[OfferFate]
    OFFER_FATE_ON_ITS_WAY: _ClassVar[OfferFate]
    OFFER_FATE_REJECTED: _ClassVar[OfferFate]
    OFFER_FATE_BANNED: _ClassVar[OfferFate]
    OFFER_FATE_REMOVED: _ClassVar[OfferFate]
    OFFER_FATE_LOAD_FAILED: _ClassVar[OfferFate]
    OFFER_FATE_NEVER_SEEN: _ClassVar[OfferFate]

class ExplanationStage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPLANATION_STAGE_UNSPECIFIED: _ClassVar[ExplanationStage]
    EXPLANATION_STAGE_SOURCE: _ClassVar[ExplanationStage]
    EXPLANATION_STAGE_FILE: _ClassVar[ExplanationStage]
    EXPLANATION_STAGE_OFFER: _ClassVar[ExplanationStage]
    EXPLANATION_STAGE_CHECKS: _ClassVar[ExplanationStage]
    EXPLANATION_STAGE_BATCH: _ClassVar[ExplanationStage]
    EXPLANATION_STAGE_APPLIED: _ClassVar[ExplanationStage]
    EXPLANATION_STAGE_MODERATION: _ClassVar[ExplanationStage]
    EXPLANATION_STAGE_PICTURES: _ClassVar[ExplanationStage]
    EXPLANATION_STAGE_REGISTERED: _ClassVar[ExplanationStage]
    EXPLANATION_STAGE_SEARCHABLE: _ClassVar[ExplanationStage]

class ExplanationState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPLANATION_STATE_UNSPECIFIED: _ClassVar[ExplanationState]
    EXPLANATION_STATE_DONE: _ClassVar[ExplanationState]
    EXPLANATION_STATE_WARNING: _ClassVar[ExplanationState]
    EXPLANATION_STATE_STOPPED: _ClassVar[ExplanationState]
    EXPLANATION_STATE_WAITING: _ClassVar[ExplanationState]
    EXPLANATION_STATE_SKIPPED: _ClassVar[ExplanationState]
    EXPLANATION_STATE_UNKNOWN: _ClassVar[ExplanationState]
OFFER_FATE_UNSPECIFIED: OfferFate
OFFER_FATE_SEARCHABLE: OfferFate
OFFER_FATE_ON_ITS_WAY: OfferFate
OFFER_FATE_REJECTED: OfferFate
OFFER_FATE_BANNED: OfferFate
OFFER_FATE_REMOVED: OfferFate
OFFER_FATE_LOAD_FAILED: OfferFate
OFFER_FATE_NEVER_SEEN: OfferFate
EXPLANATION_STAGE_UNSPECIFIED: ExplanationStage
EXPLANATION_STAGE_SOURCE: ExplanationStage
EXPLANATION_STAGE_FILE: ExplanationStage
EXPLANATION_STAGE_OFFER: ExplanationStage
EXPLANATION_STAGE_CHECKS: ExplanationStage
EXPLANATION_STAGE_BATCH: ExplanationStage
EXPLANATION_STAGE_APPLIED: ExplanationStage
EXPLANATION_STAGE_MODERATION: ExplanationStage
EXPLANATION_STAGE_PICTURES: ExplanationStage
EXPLANATION_STAGE_REGISTERED: ExplanationStage
EXPLANATION_STAGE_SEARCHABLE: ExplanationStage
EXPLANATION_STATE_UNSPECIFIED: ExplanationState
EXPLANATION_STATE_DONE: ExplanationState
EXPLANATION_STATE_WARNING: ExplanationState
EXPLANATION_STATE_STOPPED: ExplanationState
EXPLANATION_STATE_WAITING: ExplanationState
EXPLANATION_STATE_SKIPPED: ExplanationState
EXPLANATION_STATE_UNKNOWN: ExplanationState

class ExplanationStep(_message.Message):
    __slots__ = ("stage", "state", "text", "time", "suggestion", "code", "line", "column", "excerpt")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    SUGGESTION_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    EXCERPT_FIELD_NUMBER: _ClassVar[int]
    stage: ExplanationStage
    state: ExplanationState
    text: str
    time: _timestamp_pb2.Timestamp
    suggestion: str
    code: str
    line: int
    column: int
    excerpt: str
    def __init__(self, stage: _Optional[_Union[ExplanationStage, str]] = ..., state: _Optional[_Union[ExplanationState, str]] = ..., text: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., suggestion: _Optional[str] = ..., code: _Optional[str] = ..., line: _Optional[int] = ..., column: _Optional[int] = ..., excerpt: _Optional[str] = ...) -> None: ...

class OfferExplanation(_message.Message):
    __slots__ = ("name", "fate", "summary", "suggestion", "steps", "task", "duplicate_lines")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FATE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    SUGGESTION_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_LINES_FIELD_NUMBER: _ClassVar[int]
    name: str
    fate: OfferFate
    summary: str
    suggestion: str
    steps: _containers.RepeatedCompositeFieldContainer[ExplanationStep]
    task: str
    duplicate_lines: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, name: _Optional[str] = ..., fate: _Optional[_Union[OfferFate, str]] = ..., summary: _Optional[str] = ..., suggestion: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[ExplanationStep, _Mapping]]] = ..., task: _Optional[str] = ..., duplicate_lines: _Optional[_Iterable[int]] = ...) -> None: ...

class ExplainOfferRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...
