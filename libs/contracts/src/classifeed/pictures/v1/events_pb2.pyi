import datetime

from classifeed.pictures.v1 import orders_pb2 as _orders_pb2
from classifeed.pictures.v1 import picture_pb2 as _picture_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DeleteReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DELETE_REASON_UNSPECIFIED: _ClassVar[DeleteReason]
    DELETE_REASON_UNUSED: _ClassVar[DeleteReason]
    DELETE_REASON_REQUESTED: _ClassVar[DeleteReason]
    DELETE_REASON_GIVEN_UP: _ClassVar[DeleteReason]
DELETE_REASON_UNSPECIFIED: DeleteReason
DELETE_REASON_UNUSED: DeleteReason
DELETE_REASON_REQUESTED: DeleteReason
DELETE_REASON_GIVEN_UP: DeleteReason

class PictureEvent(_message.Message):
    __slots__ = ("url", "url_hash", "source", "event_time", "requested", "loaded", "look_again", "delete_picture", "move_picture", "adopt_pictures")
    URL_FIELD_NUMBER: _ClassVar[int]
    URL_HASH_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_FIELD_NUMBER: _ClassVar[int]
    LOADED_FIELD_NUMBER: _ClassVar[int]
    LOOK_AGAIN_FIELD_NUMBER: _ClassVar[int]
    DELETE_PICTURE_FIELD_NUMBER: _ClassVar[int]
    MOVE_PICTURE_FIELD_NUMBER: _ClassVar[int]
    ADOPT_PICTURES_FIELD_NUMBER: _ClassVar[int]
    url: str
    url_hash: bytes
    source: EventSource
    event_time: _timestamp_pb2.Timestamp
    requested: PictureRequested
    loaded: _orders_pb2.LoadResult
    look_again: LookAgain
    delete_picture: DeletePicture
    move_picture: MovePicture
    adopt_pictures: AdoptPictures
    def __init__(self, url: _Optional[str] = ..., url_hash: _Optional[bytes] = ..., source: _Optional[_Union[EventSource, _Mapping]] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., requested: _Optional[_Union[PictureRequested, _Mapping]] = ..., loaded: _Optional[_Union[_orders_pb2.LoadResult, _Mapping]] = ..., look_again: _Optional[_Union[LookAgain, _Mapping]] = ..., delete_picture: _Optional[_Union[DeletePicture, _Mapping]] = ..., move_picture: _Optional[_Union[MovePicture, _Mapping]] = ..., adopt_pictures: _Optional[_Union[AdoptPictures, _Mapping]] = ...) -> None: ...

class EventSource(_message.Message):
    __slots__ = ("name", "partition", "position")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    name: str
    partition: int
    position: int
    def __init__(self, name: _Optional[str] = ..., partition: _Optional[int] = ..., position: _Optional[int] = ...) -> None: ...

class PictureRequested(_message.Message):
    __slots__ = ("namespace", "recipient", "reference", "requested_url", "client")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_URL_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    recipient: str
    reference: str
    requested_url: str
    client: str
    def __init__(self, namespace: _Optional[str] = ..., recipient: _Optional[str] = ..., reference: _Optional[str] = ..., requested_url: _Optional[str] = ..., client: _Optional[str] = ...) -> None: ...

class LookAgain(_message.Message):
    __slots__ = ("force", "refresh", "lost_attempts")
    FORCE_FIELD_NUMBER: _ClassVar[int]
    REFRESH_FIELD_NUMBER: _ClassVar[int]
    LOST_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    force: bool
    refresh: bool
    lost_attempts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, force: _Optional[bool] = ..., refresh: _Optional[bool] = ..., lost_attempts: _Optional[_Iterable[int]] = ...) -> None: ...

class DeletePicture(_message.Message):
    __slots__ = ("reason", "namespace", "recipient")
    REASON_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    reason: DeleteReason
    namespace: str
    recipient: str
    def __init__(self, reason: _Optional[_Union[DeleteReason, str]] = ..., namespace: _Optional[str] = ..., recipient: _Optional[str] = ...) -> None: ...

class MovePicture(_message.Message):
    __slots__ = ("to_url", "namespaces", "put")
    TO_URL_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    to_url: str
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    put: bool
    def __init__(self, to_url: _Optional[str] = ..., namespaces: _Optional[_Iterable[str]] = ..., put: _Optional[bool] = ...) -> None: ...

class AdoptPictures(_message.Message):
    __slots__ = ("pictures", "put")
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    pictures: _containers.RepeatedCompositeFieldContainer[_picture_pb2.PictureInfo]
    put: bool
    def __init__(self, pictures: _Optional[_Iterable[_Union[_picture_pb2.PictureInfo, _Mapping]]] = ..., put: _Optional[bool] = ...) -> None: ...
