"""PublishMark: pushes changed rows to another service over gRPC, outside any transaction (ADR 0007).

A row has `version`, which every change sets to NEXT_VERSION, and `published_version`. Due rows have
`version > published_version`; a partial index keeps them small in number. A pusher sends due rows and moves the mark.
So only committed rows are pushed, every committed row is pushed, and a change during a push is pushed again.
"""

from __future__ import annotations

from classifeed_common.publish_mark.pusher import MarkPusher
from classifeed_common.publish_mark.versions import FIRST_VERSION, NEXT_VERSION, next_version

__all__ = ["FIRST_VERSION", "NEXT_VERSION", "MarkPusher", "next_version"]
