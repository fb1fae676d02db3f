"""Methods about formats: the supported formats with their samples and schemas."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import format_pb2
from classifeed.feeds.v1.format_pb2 import (
    FormatFile,
    GetFormatFileRequest,
    ListFormatsRequest,
    ListFormatsResponse,
)
from classifeed_common.errors import NotFound
from classifeed_common.rpc.context import Context
from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.registry import FORMATS, format_named

_KIND_NAMES: Final = {
    format_pb2.FORMAT_FILE_KIND_SAMPLE: "sample",
    format_pb2.FORMAT_FILE_KIND_SCHEMA: "schema",
}


class FormatMethods:
    """The supported formats, read from the package."""

    async def ListFormats(self, request: ListFormatsRequest, context: Context) -> ListFormatsResponse:
        """Return all formats, in the order in which they are listed for people."""
        return ListFormatsResponse(formats=[_to_proto(each) for each in FORMATS])

    async def GetFormatFile(self, request: GetFormatFileRequest, context: Context) -> FormatFile:
        """Return the sample or the schema of a format.

        Raises:
            NotFound: the format does not exist, or does not have this file.
        """
        try:
            found = format_named(request.name.removeprefix("formats/"))
        except KeyError:
            names = ", ".join(f"formats/{each.name}" for each in FORMATS)
            raise NotFound("FORMAT_NOT_FOUND", f"There is no {request.name}. Known are {names}.") from None
        file_name = _file_names(found).get(request.kind, "")
        if not file_name:
            words = f"{request.name} has no {_KIND_NAMES.get(request.kind, 'such file')}."
            raise NotFound("FORMAT_FILE_NOT_FOUND", f"{words} Request a file that ListFormats names.")
        return FormatFile(file_name=file_name, content=found.read_file(file_name))


def _file_names(found: Format) -> dict[format_pb2.FormatFileKind, str]:
    return {
        format_pb2.FORMAT_FILE_KIND_SAMPLE: found.sample,
        format_pb2.FORMAT_FILE_KIND_SCHEMA: found.schema,
    }


def _to_proto(found: Format) -> format_pb2.Format:
    return format_pb2.Format(
        name=f"formats/{found.name}",
        format=found.name,
        title=found.title,
        description=f"{found.description} Recognised by: {found.recognised_by}.",
        files=[kind for kind, name in _file_names(found).items() if name],
    )
