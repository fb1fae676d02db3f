import datetime

from classifeed.pictures.v1 import events_pb2 as _events_pb2
from classifeed.pictures.v1 import picture_pb2 as _picture_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PictureRequests(_message.Message):
    __slots__ = ("recipient", "requests", "client")
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    recipient: str
    requests: _containers.RepeatedCompositeFieldContainer[PictureRequest]
    client: str
    def __init__(self, recipient: _Optional[str] = ..., requests: _Optional[_Iterable[_Union[PictureRequest, _Mapping]]] = ..., client: _Optional[str] = ...) -> None: ...

class PictureRequest(_message.Message):
    __slots__ = ("url", "namespace", "reference", "request_time")
    URL_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_TIME_FIELD_NUMBER: _ClassVar[int]
    url: str
    namespace: str
    reference: str
    request_time: _timestamp_pb2.Timestamp
    def __init__(self, url: _Optional[str] = ..., namespace: _Optional[str] = ..., reference: _Optional[str] = ..., request_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PictureNotices(_message.Message):
    __slots__ = ("notices",)
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    notices: _containers.RepeatedCompositeFieldContainer[PictureNotice]
    def __init__(self, notices: _Optional[_Iterable[_Union[PictureNotice, _Mapping]]] = ...) -> None: ...

class PictureNotice(_message.Message):
    __slots__ = ("url", "notice_time", "look_again", "delete_picture", "move_picture", "adopt_pictures", "exact")
    URL_FIELD_NUMBER: _ClassVar[int]
    NOTICE_TIME_FIELD_NUMBER: _ClassVar[int]
    LOOK_AGAIN_FIELD_NUMBER: _ClassVar[int]
    DELETE_PICTURE_FIELD_NUMBER: _ClassVar[int]
    MOVE_PICTURE_FIELD_NUMBER: _ClassVar[int]
    ADOPT_PICTURES_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    url: str
    notice_time: _timestamp_pb2.Timestamp
    look_again: _events_pb2.LookAgain
    delete_picture: _events_pb2.DeletePicture
    move_picture: _events_pb2.MovePicture
    adopt_pictures: _events_pb2.AdoptPictures
    exact: bool
    def __init__(self, url: _Optional[str] = ..., notice_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., look_again: _Optional[_Union[_events_pb2.LookAgain, _Mapping]] = ..., delete_picture: _Optional[_Union[_events_pb2.DeletePicture, _Mapping]] = ..., move_picture: _Optional[_Union[_events_pb2.MovePicture, _Mapping]] = ..., adopt_pictures: _Optional[_Union[_events_pb2.AdoptPictures, _Mapping]] = ..., exact: _Optional[bool] = ...) -> None: ...

class PictureResults(_message.Message):
    __slots__ = ("recipient", "results")
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    recipient: str
    results: _containers.RepeatedCompositeFieldContainer[PictureResult]
    def __init__(self, recipient: _Optional[str] = ..., results: _Optional[_Iterable[_Union[PictureResult, _Mapping]]] = ...) -> None: ...

class PictureResult(_message.Message):
    __slots__ = ("url", "namespace", "reference", "attempt", "info", "failure")
    URL_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    url: str
    namespace: str
    reference: str
    attempt: int
    info: _picture_pb2.PictureInfo
    failure: _picture_pb2.LoadFailure
    def __init__(self, url: _Optional[str] = ..., namespace: _Optional[str] = ..., reference: _Optional[str] = ..., attempt: _Optional[int] = ..., info: _Optional[_Union[_picture_pb2.PictureInfo, _Mapping]] = ..., failure: _Optional[_Union[_picture_pb2.LoadFailure, _Mapping]] = ...) -> None: ...
