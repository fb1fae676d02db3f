import datetime

from classifeed.moderation.v1 import subject_pb2 as _subject_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Location(_message.Message):
    __slots__ = ("latitude", "longitude")
    LATITUDE_FIELD_NUMBER: _ClassVar[int]
    LONGITUDE_FIELD_NUMBER: _ClassVar[int]
    latitude: float
    longitude: float
    def __init__(self, latitude: _Optional[float] = ..., longitude: _Optional[float] = ...) -> None: ...

class Author(_message.Message):
    __slots__ = ("author_id", "role")
    AUTHOR_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    author_id: str
    role: _subject_pb2.AuthorRole
    def __init__(self, author_id: _Optional[str] = ..., role: _Optional[_Union[_subject_pb2.AuthorRole, str]] = ...) -> None: ...

class Point(_message.Message):
    __slots__ = ("name", "author", "tags", "description", "location", "region_ids", "votes_for", "votes_against", "version", "moderation", "create_time", "update_time", "comments")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    REGION_IDS_FIELD_NUMBER: _ClassVar[int]
    VOTES_FOR_FIELD_NUMBER: _ClassVar[int]
    VOTES_AGAINST_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MODERATION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    COMMENTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    author: Author
    tags: _containers.RepeatedScalarFieldContainer[str]
    description: str
    location: Location
    region_ids: _containers.RepeatedScalarFieldContainer[int]
    votes_for: int
    votes_against: int
    version: int
    moderation: _subject_pb2.Moderation
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    comments: _containers.RepeatedCompositeFieldContainer[Comment]
    def __init__(self, name: _Optional[str] = ..., author: _Optional[_Union[Author, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., description: _Optional[str] = ..., location: _Optional[_Union[Location, _Mapping]] = ..., region_ids: _Optional[_Iterable[int]] = ..., votes_for: _Optional[int] = ..., votes_against: _Optional[int] = ..., version: _Optional[int] = ..., moderation: _Optional[_Union[_subject_pb2.Moderation, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., comments: _Optional[_Iterable[_Union[Comment, _Mapping]]] = ...) -> None: ...

class Comment(_message.Message):
    __slots__ = ("name", "author", "text", "moderation", "create_time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MODERATION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    author: Author
    text: str
    moderation: _subject_pb2.Moderation
    create_time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., author: _Optional[_Union[Author, _Mapping]] = ..., text: _Optional[str] = ..., moderation: _Optional[_Union[_subject_pb2.Moderation, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
