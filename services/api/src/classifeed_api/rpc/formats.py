"""Methods about formats of files."""

from __future__ import annotations

from classifeed.feeds.v1.format_pb2 import FormatFile, GetFormatFileRequest, ListFormatsRequest, ListFormatsResponse
from classifeed_api.rpc.methods import Context, Methods


class FormatMethods(Methods):
    """The processor knows the formats."""

    async def ListFormats(self, request: ListFormatsRequest, context: Context) -> ListFormatsResponse:
        """Asks the processor."""
        return await self._parts.tasks.ListFormats(request)

    async def GetFormatFile(self, request: GetFormatFileRequest, context: Context) -> FormatFile:
        """Asks the processor."""
        return await self._parts.tasks.GetFormatFile(request)
