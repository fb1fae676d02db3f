import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.moderation.v1 import subject_pb2 as _subject_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JudgeTextRequest(_message.Message):
    __slots__ = ("service", "environment", "key", "text", "region_ids")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REGION_IDS_FIELD_NUMBER: _ClassVar[int]
    service: str
    environment: str
    key: str
    text: str
    region_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, service: _Optional[str] = ..., environment: _Optional[str] = ..., key: _Optional[str] = ..., text: _Optional[str] = ..., region_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class JudgeTextResponse(_message.Message):
    __slots__ = ("verdicts", "with_people")
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    WITH_PEOPLE_FIELD_NUMBER: _ClassVar[int]
    verdicts: _containers.RepeatedCompositeFieldContainer[_subject_pb2.Verdict]
    with_people: bool
    def __init__(self, verdicts: _Optional[_Iterable[_Union[_subject_pb2.Verdict, _Mapping]]] = ..., with_people: _Optional[bool] = ...) -> None: ...

class Review(_message.Message):
    __slots__ = ("review_id", "project", "text", "instructions", "choices", "lease_end_time")
    REVIEW_ID_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    LEASE_END_TIME_FIELD_NUMBER: _ClassVar[int]
    review_id: int
    project: str
    text: str
    instructions: str
    choices: _containers.RepeatedScalarFieldContainer[str]
    lease_end_time: _timestamp_pb2.Timestamp
    def __init__(self, review_id: _Optional[int] = ..., project: _Optional[str] = ..., text: _Optional[str] = ..., instructions: _Optional[str] = ..., choices: _Optional[_Iterable[str]] = ..., lease_end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ClaimReviewRequest(_message.Message):
    __slots__ = ("project", "reviewer")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    REVIEWER_FIELD_NUMBER: _ClassVar[int]
    project: str
    reviewer: str
    def __init__(self, project: _Optional[str] = ..., reviewer: _Optional[str] = ...) -> None: ...

class SubmitOpinionRequest(_message.Message):
    __slots__ = ("review_id", "reviewer", "verdicts")
    REVIEW_ID_FIELD_NUMBER: _ClassVar[int]
    REVIEWER_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    review_id: int
    reviewer: str
    verdicts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, review_id: _Optional[int] = ..., reviewer: _Optional[str] = ..., verdicts: _Optional[_Iterable[str]] = ...) -> None: ...

class SubmitOpinionResponse(_message.Message):
    __slots__ = ("ended",)
    ENDED_FIELD_NUMBER: _ClassVar[int]
    ended: bool
    def __init__(self, ended: _Optional[bool] = ...) -> None: ...

class GetQueuesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetQueuesResponse(_message.Message):
    __slots__ = ("queues", "days")
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[Queue]
    days: _containers.RepeatedCompositeFieldContainer[ReviewDay]
    def __init__(self, queues: _Optional[_Iterable[_Union[Queue, _Mapping]]] = ..., days: _Optional[_Iterable[_Union[ReviewDay, _Mapping]]] = ...) -> None: ...

class Queue(_message.Message):
    __slots__ = ("project", "waiting", "oldest_s", "reviewers", "late")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    OLDEST_S_FIELD_NUMBER: _ClassVar[int]
    REVIEWERS_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    project: str
    waiting: int
    oldest_s: float
    reviewers: int
    late: int
    def __init__(self, project: _Optional[str] = ..., waiting: _Optional[int] = ..., oldest_s: _Optional[float] = ..., reviewers: _Optional[int] = ..., late: _Optional[int] = ...) -> None: ...

class ReviewDay(_message.Message):
    __slots__ = ("day", "project", "opinions", "cost")
    DAY_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    OPINIONS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    day: str
    project: str
    opinions: int
    cost: float
    def __init__(self, day: _Optional[str] = ..., project: _Optional[str] = ..., opinions: _Optional[int] = ..., cost: _Optional[float] = ...) -> None: ...

class ListCallbacksRequest(_message.Message):
    __slots__ = ("given_up", "page_size", "after_callback_id")
    GIVEN_UP_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    AFTER_CALLBACK_ID_FIELD_NUMBER: _ClassVar[int]
    given_up: bool
    page_size: int
    after_callback_id: int
    def __init__(self, given_up: _Optional[bool] = ..., page_size: _Optional[int] = ..., after_callback_id: _Optional[int] = ...) -> None: ...

class ListCallbacksResponse(_message.Message):
    __slots__ = ("callbacks",)
    CALLBACKS_FIELD_NUMBER: _ClassVar[int]
    callbacks: _containers.RepeatedCompositeFieldContainer[Callback]
    def __init__(self, callbacks: _Optional[_Iterable[_Union[Callback, _Mapping]]] = ...) -> None: ...

class Callback(_message.Message):
    __slots__ = ("callback_id", "service", "environment", "key", "create_time", "give_up_time", "fault")
    CALLBACK_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    GIVE_UP_TIME_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    callback_id: int
    service: str
    environment: str
    key: str
    create_time: _timestamp_pb2.Timestamp
    give_up_time: _timestamp_pb2.Timestamp
    fault: str
    def __init__(self, callback_id: _Optional[int] = ..., service: _Optional[str] = ..., environment: _Optional[str] = ..., key: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., give_up_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fault: _Optional[str] = ...) -> None: ...

class ResendCallbacksRequest(_message.Message):
    __slots__ = ("callback_id",)
    CALLBACK_ID_FIELD_NUMBER: _ClassVar[int]
    callback_id: int
    def __init__(self, callback_id: _Optional[int] = ...) -> None: ...

class ResendCallbacksResponse(_message.Message):
    __slots__ = ("callbacks",)
    CALLBACKS_FIELD_NUMBER: _ClassVar[int]
    callbacks: int
    def __init__(self, callbacks: _Optional[int] = ...) -> None: ...
