import datetime

from classifeed.pictures.v1 import picture_pb2 as _picture_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HoldingRecords(_message.Message):
    __slots__ = ("holdings",)
    HOLDINGS_FIELD_NUMBER: _ClassVar[int]
    holdings: _containers.RepeatedCompositeFieldContainer[HoldingRecord]
    def __init__(self, holdings: _Optional[_Iterable[_Union[HoldingRecord, _Mapping]]] = ...) -> None: ...

class HoldingRecord(_message.Message):
    __slots__ = ("namespace", "attempt", "order_time", "copy", "info", "info_attempt", "failure", "retry_time", "first_attempt", "failed_attempts")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ORDER_TIME_FIELD_NUMBER: _ClassVar[int]
    COPY_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    INFO_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    RETRY_TIME_FIELD_NUMBER: _ClassVar[int]
    FIRST_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FAILED_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    attempt: int
    order_time: _timestamp_pb2.Timestamp
    copy: bool
    info: _picture_pb2.PictureInfo
    info_attempt: int
    failure: _picture_pb2.LoadFailure
    retry_time: _timestamp_pb2.Timestamp
    first_attempt: int
    failed_attempts: int
    def __init__(self, namespace: _Optional[str] = ..., attempt: _Optional[int] = ..., order_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., copy: _Optional[bool] = ..., info: _Optional[_Union[_picture_pb2.PictureInfo, _Mapping]] = ..., info_attempt: _Optional[int] = ..., failure: _Optional[_Union[_picture_pb2.LoadFailure, _Mapping]] = ..., retry_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., first_attempt: _Optional[int] = ..., failed_attempts: _Optional[int] = ...) -> None: ...
