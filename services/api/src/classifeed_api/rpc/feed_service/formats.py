"""Methods for file formats."""

from __future__ import annotations

from classifeed.feeds.v1.format_pb2 import FormatFile, GetFormatFileRequest, ListFormatsRequest, ListFormatsResponse
from classifeed_api.clients.processor import ProcessorClient
from classifeed_common.rpc.context import Context


class FormatMethods:
    """Methods for file formats, which the processor knows."""

    def __init__(self, processor: ProcessorClient) -> None:
        self._processor = processor

    async def ListFormats(self, request: ListFormatsRequest, context: Context) -> ListFormatsResponse:
        """Pass the call on to the processor."""
        return await self._processor.stub.ListFormats(request)

    async def GetFormatFile(self, request: GetFormatFileRequest, context: Context) -> FormatFile:
        """Pass the call on to the processor."""
        return await self._processor.stub.GetFormatFile(request)
