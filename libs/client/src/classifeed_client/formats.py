"""Calls for the supported feed formats."""

# Written from aio/formats.py by `make stubs`: change it there.

from __future__ import annotations

from classifeed.feeds.v1 import format_pb2
from classifeed_client.connection import Connection
from classifeed_client.names import format_name


class FormatCalls(Connection):
    """Lists the formats, and downloads their samples and schemas."""

    def list_formats(self) -> format_pb2.ListFormatsResponse:
        """Return every format."""
        return self._call(self._feeds.ListFormats, format_pb2.ListFormatsRequest(), format_pb2.ListFormatsResponse)

    def get_format_file(self, format_id: str, kind: str = "SAMPLE") -> format_pb2.FormatFile:
        """Return a file of a format: its SAMPLE or its SCHEMA."""
        request = format_pb2.GetFormatFileRequest(name=format_name(format_id), kind=f"FORMAT_FILE_KIND_{kind}")
        return self._call(self._feeds.GetFormatFile, request, format_pb2.FormatFile)
