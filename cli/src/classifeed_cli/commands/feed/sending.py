"""Upload of a file, with retries while the service has too many uploads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from classifeed.feeds.v1 import feed_service_pb2
from classifeed_cli.views.progress import LoadProgress
from classifeed_client import Refused

# Nothing was stored, and the refusal has the time of the next attempt.
_FULL: Final = frozenset({"UPLOADS_FULL", "SELLER_UPLOADS_FULL"})


def send_when_there_is_room(
    send: Callable[[], feed_service_pb2.Upload], progress: LoadProgress, left_s: Callable[[], float]
) -> feed_service_pb2.Upload:
    """Call `send` and return its upload. If it is refused because of too many uploads, retry it after the given time.

    Args:
        send: Function that uploads the file, with the same request_id each time.
        progress: Progress that shows the wait.
        left_s: Function that returns the remaining seconds.

    Raises:
        ApiError: The upload was refused for another reason, or the time would run out before the next attempt.
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
