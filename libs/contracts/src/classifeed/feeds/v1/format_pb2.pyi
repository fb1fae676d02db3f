from buf.validate import validate_pb2 as _validate_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FormatFileKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FORMAT_FILE_KIND_UNSPECIFIED: _ClassVar[FormatFileKind]
    FORMAT_FILE_KIND_SAMPLE: _ClassVar[FormatFileKind]
    FORMAT_FILE_KIND_SCHEMA: _ClassVar[FormatFileKind]
FORMAT_FILE_KIND_UNSPECIFIED: FormatFileKind
FORMAT_FILE_KIND_SAMPLE: FormatFileKind
FORMAT_FILE_KIND_SCHEMA: FormatFileKind

class Format(_message.Message):
    __slots__ = ("name", "format", "title", "description", "files")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    name: str
    format: str
    title: str
    description: str
    files: _containers.RepeatedScalarFieldContainer[FormatFileKind]
    def __init__(self, name: _Optional[str] = ..., format: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., files: _Optional[_Iterable[_Union[FormatFileKind, str]]] = ...) -> None: ...

class FormatFile(_message.Message):
    __slots__ = ("file_name", "content")
    FILE_NAME_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    file_name: str
    content: bytes
    def __init__(self, file_name: _Optional[str] = ..., content: _Optional[bytes] = ...) -> None: ...

class ListFormatsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListFormatsResponse(_message.Message):
    __slots__ = ("formats",)
    FORMATS_FIELD_NUMBER: _ClassVar[int]
    formats: _containers.RepeatedCompositeFieldContainer[Format]
    def __init__(self, formats: _Optional[_Iterable[_Union[Format, _Mapping]]] = ...) -> None: ...

class GetFormatFileRequest(_message.Message):
    __slots__ = ("name", "kind")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: FormatFileKind
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[FormatFileKind, str]] = ...) -> None: ...
