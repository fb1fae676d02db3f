"""Sending a file where there may be no place for it yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from classifeed.feeds.v1 import feed_service_pb2
from classifeed_cli.views.progress import LoadProgress
from classifeed_client import Refused

# Nothing was stored, and the refusal says when to come again.
_FULL: Final = frozenset({"UPLOADS_FULL", "SELLER_UPLOADS_FULL"})


def send_when_there_is_room(
    send: Callable[[], feed_service_pb2.Upload], progress: LoadProgress, left_s: Callable[[], float]
) -> feed_service_pb2.Upload:
    """Return the upload that `send` makes; refused for too many others, it is called again when the refusal says.

    Args:
        send: the same upload each time, by one request_id.
        progress: is shown what is waited for.
        left_s: seconds that may be waited yet.

    Raises:
        ApiError: it was refused for another reason, or the time would run out before the next try.
    """
    while True:
        try:
            return send()
        except Refused as error:
            wait_s = error.retry_after_s
            if error.reason not in _FULL or wait_s is None or wait_s >= left_s():
                raise
            progress.waiting(f"too many uploads: waiting {wait_s:.0f} s")
            time.sleep(wait_s)
