import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PictureInfo(_message.Message):
    __slots__ = ("namespace", "group_id", "name", "width", "height", "format", "size_bytes", "content_hash", "sizes", "perceptual_hash", "dominant_color", "blurhash", "frames", "store_time", "source_etag", "source_last_modified", "source_hash")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    PERCEPTUAL_HASH_FIELD_NUMBER: _ClassVar[int]
    DOMINANT_COLOR_FIELD_NUMBER: _ClassVar[int]
    BLURHASH_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    STORE_TIME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ETAG_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LAST_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    SOURCE_HASH_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    group_id: int
    name: str
    width: int
    height: int
    format: str
    size_bytes: int
    content_hash: bytes
    sizes: _containers.RepeatedCompositeFieldContainer[PictureSize]
    perceptual_hash: bytes
    dominant_color: int
    blurhash: str
    frames: int
    store_time: _timestamp_pb2.Timestamp
    source_etag: str
    source_last_modified: str
    source_hash: bytes
    def __init__(self, namespace: _Optional[str] = ..., group_id: _Optional[int] = ..., name: _Optional[str] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., format: _Optional[str] = ..., size_bytes: _Optional[int] = ..., content_hash: _Optional[bytes] = ..., sizes: _Optional[_Iterable[_Union[PictureSize, _Mapping]]] = ..., perceptual_hash: _Optional[bytes] = ..., dominant_color: _Optional[int] = ..., blurhash: _Optional[str] = ..., frames: _Optional[int] = ..., store_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source_etag: _Optional[str] = ..., source_last_modified: _Optional[str] = ..., source_hash: _Optional[bytes] = ...) -> None: ...

class PictureSize(_message.Message):
    __slots__ = ("name", "width", "height", "formats")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    FORMATS_FIELD_NUMBER: _ClassVar[int]
    name: str
    width: int
    height: int
    formats: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., formats: _Optional[_Iterable[str]] = ...) -> None: ...

class LoadFailure(_message.Message):
    __slots__ = ("code", "message", "http_status", "retry_time")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    RETRY_TIME_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    http_status: int
    retry_time: _timestamp_pb2.Timestamp
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., http_status: _Optional[int] = ..., retry_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PictureState(_message.Message):
    __slots__ = ("url", "url_hash", "known", "pictures", "attempt", "attempt_time", "next_attempt_time", "failed_attempts", "last_failure", "delete_mark_time", "request_time", "requests_in_flight", "put", "refresh_time")
    URL_FIELD_NUMBER: _ClassVar[int]
    URL_HASH_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_TIME_FIELD_NUMBER: _ClassVar[int]
    NEXT_ATTEMPT_TIME_FIELD_NUMBER: _ClassVar[int]
    FAILED_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    LAST_FAILURE_FIELD_NUMBER: _ClassVar[int]
    DELETE_MARK_TIME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_TIME_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    REFRESH_TIME_FIELD_NUMBER: _ClassVar[int]
    url: str
    url_hash: bytes
    known: bool
    pictures: _containers.RepeatedCompositeFieldContainer[PictureInfo]
    attempt: int
    attempt_time: _timestamp_pb2.Timestamp
    next_attempt_time: _timestamp_pb2.Timestamp
    failed_attempts: int
    last_failure: LoadFailure
    delete_mark_time: _timestamp_pb2.Timestamp
    request_time: _timestamp_pb2.Timestamp
    requests_in_flight: int
    put: bool
    refresh_time: _timestamp_pb2.Timestamp
    def __init__(self, url: _Optional[str] = ..., url_hash: _Optional[bytes] = ..., known: _Optional[bool] = ..., pictures: _Optional[_Iterable[_Union[PictureInfo, _Mapping]]] = ..., attempt: _Optional[int] = ..., attempt_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_attempt_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., failed_attempts: _Optional[int] = ..., last_failure: _Optional[_Union[LoadFailure, _Mapping]] = ..., delete_mark_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., request_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., requests_in_flight: _Optional[int] = ..., put: _Optional[bool] = ..., refresh_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PictureStateBatch(_message.Message):
    __slots__ = ("states",)
    STATES_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedCompositeFieldContainer[PictureState]
    def __init__(self, states: _Optional[_Iterable[_Union[PictureState, _Mapping]]] = ...) -> None: ...
