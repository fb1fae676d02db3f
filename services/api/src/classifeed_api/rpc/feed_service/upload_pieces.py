"""Receives the messages of an upload and enforces its idle timeout."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from classifeed.feeds.v1.feed_service_pb2 import UploadFeedRequest
from classifeed_api.app.uploads.limit_uploads import OpenUpload
from classifeed_common.errors import DeadlineExceeded

LEAST_BYTES: Final = 64 * 1024
"""Bytes that an upload must send within the idle time to count as alive; fewer if the file ends before."""


async def pieces_of(
    requests: AsyncIterator[UploadFeedRequest], idle_s: float, upload: OpenUpload
) -> AsyncIterator[UploadFeedRequest]:
    """Yield the messages of an upload; this generator keeps no reference to the last one while it awaits the next.

    A slow trickle counts as idle: the timeout restarts after every LEAST_BYTES, not after every message. The time that
    the caller needs for a message is not counted.

    Raises:
        DeadlineExceeded: too little was received within `idle_s` seconds, or before another upload took the slot.
    """
    left_s, received = idle_s, 0
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        try:
            async with asyncio.timeout(max(left_s, 0)) as limit:
                with upload.wait(limit, idle_since=began - (idle_s - left_s)):
                    request = await anext(requests)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            within_s = clock() - began + idle_s - left_s if upload.is_displaced else idle_s
            and_so = "and another upload needed its slot, " if upload.is_displaced else ""
            raise DeadlineExceeded(
                "UPLOAD_IDLE",
                f"Less than {LEAST_BYTES // 1024} KiB came within {within_s:.0f} s, {and_so}so the upload was "
                f"aborted. Nothing was stored; send the file again.",
            ) from error
        left_s -= clock() - began
        received += len(request.chunk)
        if received >= LEAST_BYTES:
            left_s, received = idle_s, 0
        yield request
        del request
