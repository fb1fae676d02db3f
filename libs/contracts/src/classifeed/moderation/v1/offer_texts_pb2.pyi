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

class TextsToJudge(_message.Message):
    __slots__ = ("seller_id", "namespace", "texts", "applied_decision_id", "removed")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    APPLIED_DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    texts: _containers.RepeatedCompositeFieldContainer[OfferText]
    applied_decision_id: int
    removed: _containers.RepeatedCompositeFieldContainer[RemovedOffer]
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., texts: _Optional[_Iterable[_Union[OfferText, _Mapping]]] = ..., applied_decision_id: _Optional[int] = ..., removed: _Optional[_Iterable[_Union[RemovedOffer, _Mapping]]] = ...) -> None: ...

class RemovedOffer(_message.Message):
    __slots__ = ("external_id", "content_version")
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    external_id: str
    content_version: int
    def __init__(self, external_id: _Optional[str] = ..., content_version: _Optional[int] = ...) -> None: ...

class OfferText(_message.Message):
    __slots__ = ("external_id", "text_hash", "title", "description", "content_version", "region_ids", "kept_decision")
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_HASH_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    REGION_IDS_FIELD_NUMBER: _ClassVar[int]
    KEPT_DECISION_FIELD_NUMBER: _ClassVar[int]
    external_id: str
    text_hash: bytes
    title: str
    description: str
    content_version: int
    region_ids: _containers.RepeatedScalarFieldContainer[int]
    kept_decision: KeptDecision
    def __init__(self, external_id: _Optional[str] = ..., text_hash: _Optional[bytes] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., content_version: _Optional[int] = ..., region_ids: _Optional[_Iterable[int]] = ..., kept_decision: _Optional[_Union[KeptDecision, _Mapping]] = ...) -> None: ...

class KeptDecision(_message.Message):
    __slots__ = ("status", "ban", "decide_time")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    BAN_FIELD_NUMBER: _ClassVar[int]
    DECIDE_TIME_FIELD_NUMBER: _ClassVar[int]
    status: _subject_pb2.ModerationStatus
    ban: _subject_pb2.Ban
    decide_time: _timestamp_pb2.Timestamp
    def __init__(self, status: _Optional[_Union[_subject_pb2.ModerationStatus, str]] = ..., ban: _Optional[_Union[_subject_pb2.Ban, _Mapping]] = ..., decide_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class TextsJudged(_message.Message):
    __slots__ = ("seller_id", "namespace", "texts", "lost")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    texts: _containers.RepeatedCompositeFieldContainer[OfferTextJudged]
    lost: LostDecisions
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., texts: _Optional[_Iterable[_Union[OfferTextJudged, _Mapping]]] = ..., lost: _Optional[_Union[LostDecisions, _Mapping]] = ...) -> None: ...

class LostDecisions(_message.Message):
    __slots__ = ("decision_id", "kept_decision_id", "begin_time")
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    KEPT_DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    BEGIN_TIME_FIELD_NUMBER: _ClassVar[int]
    decision_id: int
    kept_decision_id: int
    begin_time: _timestamp_pb2.Timestamp
    def __init__(self, decision_id: _Optional[int] = ..., kept_decision_id: _Optional[int] = ..., begin_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class OfferTextJudged(_message.Message):
    __slots__ = ("external_id", "text_hash", "status", "ban", "decide_time", "decision_id")
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_HASH_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    BAN_FIELD_NUMBER: _ClassVar[int]
    DECIDE_TIME_FIELD_NUMBER: _ClassVar[int]
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    external_id: str
    text_hash: bytes
    status: _subject_pb2.ModerationStatus
    ban: _subject_pb2.Ban
    decide_time: _timestamp_pb2.Timestamp
    decision_id: int
    def __init__(self, external_id: _Optional[str] = ..., text_hash: _Optional[bytes] = ..., status: _Optional[_Union[_subject_pb2.ModerationStatus, str]] = ..., ban: _Optional[_Union[_subject_pb2.Ban, _Mapping]] = ..., decide_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., decision_id: _Optional[int] = ...) -> None: ...
