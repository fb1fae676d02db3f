import datetime

from classifeed.pictures.v1 import picture_pb2 as _picture_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DownloadOrder(_message.Message):
    __slots__ = ("url", "url_hash", "namespace", "attempt", "order_time", "held", "recipient")
    URL_FIELD_NUMBER: _ClassVar[int]
    URL_HASH_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ORDER_TIME_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_FIELD_NUMBER: _ClassVar[int]
    url: str
    url_hash: bytes
    namespace: str
    attempt: int
    order_time: _timestamp_pb2.Timestamp
    held: _picture_pb2.PictureInfo
    recipient: str
    def __init__(self, url: _Optional[str] = ..., url_hash: _Optional[bytes] = ..., namespace: _Optional[str] = ..., attempt: _Optional[int] = ..., order_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., held: _Optional[_Union[_picture_pb2.PictureInfo, _Mapping]] = ..., recipient: _Optional[str] = ...) -> None: ...

class CopyOrder(_message.Message):
    __slots__ = ("url", "url_hash", "source", "namespace", "attempt")
    URL_FIELD_NUMBER: _ClassVar[int]
    URL_HASH_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    url: str
    url_hash: bytes
    source: _picture_pb2.PictureInfo
    namespace: str
    attempt: int
    def __init__(self, url: _Optional[str] = ..., url_hash: _Optional[bytes] = ..., source: _Optional[_Union[_picture_pb2.PictureInfo, _Mapping]] = ..., namespace: _Optional[str] = ..., attempt: _Optional[int] = ...) -> None: ...

class DeleteOrder(_message.Message):
    __slots__ = ("url_hash", "namespace", "group_id", "name", "attempt", "moved_to")
    URL_HASH_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    MOVED_TO_FIELD_NUMBER: _ClassVar[int]
    url_hash: bytes
    namespace: str
    group_id: int
    name: str
    attempt: int
    moved_to: bytes
    def __init__(self, url_hash: _Optional[bytes] = ..., namespace: _Optional[str] = ..., group_id: _Optional[int] = ..., name: _Optional[str] = ..., attempt: _Optional[int] = ..., moved_to: _Optional[bytes] = ...) -> None: ...

class LoadResult(_message.Message):
    __slots__ = ("url", "url_hash", "namespace", "attempt", "load_time", "info", "failure", "unchanged", "fresh_for_s")
    URL_FIELD_NUMBER: _ClassVar[int]
    URL_HASH_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    LOAD_TIME_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    FRESH_FOR_S_FIELD_NUMBER: _ClassVar[int]
    url: str
    url_hash: bytes
    namespace: str
    attempt: int
    load_time: _timestamp_pb2.Timestamp
    info: _picture_pb2.PictureInfo
    failure: _picture_pb2.LoadFailure
    unchanged: Unchanged
    fresh_for_s: int
    def __init__(self, url: _Optional[str] = ..., url_hash: _Optional[bytes] = ..., namespace: _Optional[str] = ..., attempt: _Optional[int] = ..., load_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., info: _Optional[_Union[_picture_pb2.PictureInfo, _Mapping]] = ..., failure: _Optional[_Union[_picture_pb2.LoadFailure, _Mapping]] = ..., unchanged: _Optional[_Union[Unchanged, _Mapping]] = ..., fresh_for_s: _Optional[int] = ...) -> None: ...

class Unchanged(_message.Message):
    __slots__ = ("source_etag", "source_last_modified")
    SOURCE_ETAG_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LAST_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    source_etag: str
    source_last_modified: str
    def __init__(self, source_etag: _Optional[str] = ..., source_last_modified: _Optional[str] = ...) -> None: ...
