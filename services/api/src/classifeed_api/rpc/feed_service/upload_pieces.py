"""The messages of an upload, as long as they keep coming."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from classifeed.feeds.v1.feed_service_pb2 import UploadFeedRequest
from classifeed_api.app.uploads.limit_uploads import OpenUpload
from classifeed_common.errors import DeadlineExceeded

LEAST_BYTES: Final = 64 * 1024
"""What an upload has to bring within the idle time to count as alive; all of it, when less is left."""


async def pieces_of(
    requests: AsyncIterator[UploadFeedRequest], idle_s: float, upload: OpenUpload
) -> AsyncIterator[UploadFeedRequest]:
    """Yield the messages of an upload; while the next one is awaited, nothing here refers to the last one.

    A sender that drips counts as idle: the time begins anew with every LEAST_BYTES, not with every message. The time
    that the caller takes for a message is not counted.

    Raises:
        DeadlineExceeded: too little came within `idle_s` seconds, or until another upload took the place.
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
