from buf.validate import validate_pb2 as _validate_pb2
from classifeed.points.v1 import point_pb2 as _point_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreatePointRequest(_message.Message):
    __slots__ = ("point_id", "author", "tags", "description", "location", "region_ids")
    POINT_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    REGION_IDS_FIELD_NUMBER: _ClassVar[int]
    point_id: str
    author: _point_pb2.Author
    tags: _containers.RepeatedScalarFieldContainer[str]
    description: str
    location: _point_pb2.Location
    region_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, point_id: _Optional[str] = ..., author: _Optional[_Union[_point_pb2.Author, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., description: _Optional[str] = ..., location: _Optional[_Union[_point_pb2.Location, _Mapping]] = ..., region_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class GetPointRequest(_message.Message):
    __slots__ = ("name", "any_status")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ANY_STATUS_FIELD_NUMBER: _ClassVar[int]
    name: str
    any_status: bool
    def __init__(self, name: _Optional[str] = ..., any_status: _Optional[bool] = ...) -> None: ...

class ListPointsRequest(_message.Message):
    __slots__ = ("south_west", "north_east", "tags", "page_size", "page_token", "any_status")
    SOUTH_WEST_FIELD_NUMBER: _ClassVar[int]
    NORTH_EAST_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ANY_STATUS_FIELD_NUMBER: _ClassVar[int]
    south_west: _point_pb2.Location
    north_east: _point_pb2.Location
    tags: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    any_status: bool
    def __init__(self, south_west: _Optional[_Union[_point_pb2.Location, _Mapping]] = ..., north_east: _Optional[_Union[_point_pb2.Location, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., any_status: _Optional[bool] = ...) -> None: ...

class ListPointsResponse(_message.Message):
    __slots__ = ("points", "next_page_token")
    POINTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[_point_pb2.Point]
    next_page_token: str
    def __init__(self, points: _Optional[_Iterable[_Union[_point_pb2.Point, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class AddCommentRequest(_message.Message):
    __slots__ = ("parent", "author", "text", "request_id")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    parent: str
    author: _point_pb2.Author
    text: str
    request_id: str
    def __init__(self, parent: _Optional[str] = ..., author: _Optional[_Union[_point_pb2.Author, _Mapping]] = ..., text: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class VoteRequest(_message.Message):
    __slots__ = ("name", "author_id", "is_there")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_ID_FIELD_NUMBER: _ClassVar[int]
    IS_THERE_FIELD_NUMBER: _ClassVar[int]
    name: str
    author_id: str
    is_there: bool
    def __init__(self, name: _Optional[str] = ..., author_id: _Optional[str] = ..., is_there: _Optional[bool] = ...) -> None: ...

class DeletePointRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DeletePointResponse(_message.Message):
    __slots__ = ("removed",)
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    removed: bool
    def __init__(self, removed: _Optional[bool] = ...) -> None: ...
