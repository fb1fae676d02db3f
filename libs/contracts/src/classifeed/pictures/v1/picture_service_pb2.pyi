import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.pictures.v1 import picture_pb2 as _picture_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ComparisonState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPARISON_STATE_UNSPECIFIED: _ClassVar[ComparisonState]
    COMPARISON_STATE_RUNNING: _ClassVar[ComparisonState]
    COMPARISON_STATE_HELD: _ClassVar[ComparisonState]
    COMPARISON_STATE_DONE: _ClassVar[ComparisonState]
    COMPARISON_STATE_SUPERSEDED: _ClassVar[ComparisonState]
COMPARISON_STATE_UNSPECIFIED: ComparisonState
COMPARISON_STATE_RUNNING: ComparisonState
COMPARISON_STATE_HELD: ComparisonState
COMPARISON_STATE_DONE: ComparisonState
COMPARISON_STATE_SUPERSEDED: ComparisonState

class GetStateRequest(_message.Message):
    __slots__ = ("url",)
    URL_FIELD_NUMBER: _ClassVar[int]
    url: str
    def __init__(self, url: _Optional[str] = ...) -> None: ...

class BatchGetStatesRequest(_message.Message):
    __slots__ = ("urls",)
    URLS_FIELD_NUMBER: _ClassVar[int]
    urls: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, urls: _Optional[_Iterable[str]] = ...) -> None: ...

class ListSimilarRequest(_message.Message):
    __slots__ = ("url", "namespace", "urls", "max_distance", "page_size", "page_token")
    URL_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    URLS_FIELD_NUMBER: _ClassVar[int]
    MAX_DISTANCE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    url: str
    namespace: str
    urls: _containers.RepeatedScalarFieldContainer[str]
    max_distance: int
    page_size: int
    page_token: str
    def __init__(self, url: _Optional[str] = ..., namespace: _Optional[str] = ..., urls: _Optional[_Iterable[str]] = ..., max_distance: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSimilarResponse(_message.Message):
    __slots__ = ("pictures", "next_page_token", "compared")
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    COMPARED_FIELD_NUMBER: _ClassVar[int]
    pictures: _containers.RepeatedCompositeFieldContainer[SimilarPicture]
    next_page_token: str
    compared: _picture_pb2.PictureInfo
    def __init__(self, pictures: _Optional[_Iterable[_Union[SimilarPicture, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., compared: _Optional[_Union[_picture_pb2.PictureInfo, _Mapping]] = ...) -> None: ...

class SimilarPicture(_message.Message):
    __slots__ = ("url", "distance", "picture")
    URL_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    PICTURE_FIELD_NUMBER: _ClassVar[int]
    url: str
    distance: int
    picture: _picture_pb2.PictureInfo
    def __init__(self, url: _Optional[str] = ..., distance: _Optional[int] = ..., picture: _Optional[_Union[_picture_pb2.PictureInfo, _Mapping]] = ...) -> None: ...

class RequestPicturesRequest(_message.Message):
    __slots__ = ("urls", "namespace")
    URLS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    urls: _containers.RepeatedScalarFieldContainer[str]
    namespace: str
    def __init__(self, urls: _Optional[_Iterable[str]] = ..., namespace: _Optional[str] = ...) -> None: ...

class RequestPicturesResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LookAgainRequest(_message.Message):
    __slots__ = ("urls",)
    URLS_FIELD_NUMBER: _ClassVar[int]
    urls: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, urls: _Optional[_Iterable[str]] = ...) -> None: ...

class LookAgainResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PutPictureRequest(_message.Message):
    __slots__ = ("url", "namespace", "data")
    URL_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    url: str
    namespace: str
    data: bytes
    def __init__(self, url: _Optional[str] = ..., namespace: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class DeletePicturesRequest(_message.Message):
    __slots__ = ("urls", "namespace")
    URLS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    urls: _containers.RepeatedScalarFieldContainer[str]
    namespace: str
    def __init__(self, urls: _Optional[_Iterable[str]] = ..., namespace: _Optional[str] = ...) -> None: ...

class DeletePicturesResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Comparison(_message.Message):
    __slots__ = ("comparison_id", "state", "snapshot_time", "compared", "unused")
    COMPARISON_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_TIME_FIELD_NUMBER: _ClassVar[int]
    COMPARED_FIELD_NUMBER: _ClassVar[int]
    UNUSED_FIELD_NUMBER: _ClassVar[int]
    comparison_id: int
    state: ComparisonState
    snapshot_time: _timestamp_pb2.Timestamp
    compared: int
    unused: int
    def __init__(self, comparison_id: _Optional[int] = ..., state: _Optional[_Union[ComparisonState, str]] = ..., snapshot_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., compared: _Optional[int] = ..., unused: _Optional[int] = ...) -> None: ...

class ListComparisonsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListComparisonsResponse(_message.Message):
    __slots__ = ("comparisons",)
    COMPARISONS_FIELD_NUMBER: _ClassVar[int]
    comparisons: _containers.RepeatedCompositeFieldContainer[Comparison]
    def __init__(self, comparisons: _Optional[_Iterable[_Union[Comparison, _Mapping]]] = ...) -> None: ...

class ConfirmComparisonRequest(_message.Message):
    __slots__ = ("comparison_id",)
    COMPARISON_ID_FIELD_NUMBER: _ClassVar[int]
    comparison_id: int
    def __init__(self, comparison_id: _Optional[int] = ...) -> None: ...

class PictureNamespace(_message.Message):
    __slots__ = ("name", "sizes", "formats", "quota_bytes", "pictures", "used_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    FORMATS_FIELD_NUMBER: _ClassVar[int]
    QUOTA_BYTES_FIELD_NUMBER: _ClassVar[int]
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    sizes: _containers.RepeatedCompositeFieldContainer[SizeRule]
    formats: _containers.RepeatedScalarFieldContainer[str]
    quota_bytes: int
    pictures: int
    used_bytes: int
    def __init__(self, name: _Optional[str] = ..., sizes: _Optional[_Iterable[_Union[SizeRule, _Mapping]]] = ..., formats: _Optional[_Iterable[str]] = ..., quota_bytes: _Optional[int] = ..., pictures: _Optional[int] = ..., used_bytes: _Optional[int] = ...) -> None: ...

class SizeRule(_message.Message):
    __slots__ = ("name", "width", "height", "crop")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    CROP_FIELD_NUMBER: _ClassVar[int]
    name: str
    width: int
    height: int
    crop: bool
    def __init__(self, name: _Optional[str] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., crop: _Optional[bool] = ...) -> None: ...

class PutNamespaceRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: PictureNamespace
    def __init__(self, namespace: _Optional[_Union[PictureNamespace, _Mapping]] = ...) -> None: ...

class ListNamespacesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListNamespacesResponse(_message.Message):
    __slots__ = ("namespaces",)
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedCompositeFieldContainer[PictureNamespace]
    def __init__(self, namespaces: _Optional[_Iterable[_Union[PictureNamespace, _Mapping]]] = ...) -> None: ...

class Backup(_message.Message):
    __slots__ = ("name", "begin_time", "end_time", "states", "waiting_requests", "stored_pictures", "size_bytes", "shards", "partitions", "rules_version", "fault")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BEGIN_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    WAITING_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    STORED_PICTURES_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHARDS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    RULES_VERSION_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    name: str
    begin_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    states: int
    waiting_requests: int
    stored_pictures: int
    size_bytes: int
    shards: int
    partitions: int
    rules_version: str
    fault: str
    def __init__(self, name: _Optional[str] = ..., begin_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., states: _Optional[int] = ..., waiting_requests: _Optional[int] = ..., stored_pictures: _Optional[int] = ..., size_bytes: _Optional[int] = ..., shards: _Optional[int] = ..., partitions: _Optional[int] = ..., rules_version: _Optional[str] = ..., fault: _Optional[str] = ...) -> None: ...

class ListBackupsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListBackupsResponse(_message.Message):
    __slots__ = ("backups",)
    BACKUPS_FIELD_NUMBER: _ClassVar[int]
    backups: _containers.RepeatedCompositeFieldContainer[Backup]
    def __init__(self, backups: _Optional[_Iterable[_Union[Backup, _Mapping]]] = ...) -> None: ...

class RestoreBackupRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class RestoreBackupResponse(_message.Message):
    __slots__ = ("name", "job_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    job_id: str
    def __init__(self, name: _Optional[str] = ..., job_id: _Optional[str] = ...) -> None: ...
