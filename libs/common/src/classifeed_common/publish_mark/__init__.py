"""PublishMark: rows that another service must know are pushed over gRPC, outside of any transaction (ADR 0007).

A row has `version`, which every change sets to NEXT_VERSION, and `published_version`. What is due has
`version > published_version`, kept small by a partial index. A pusher sends due rows and moves the mark. So nothing is
announced that was not committed, nothing committed is forgotten, and a change during a push is pushed again.
"""

from __future__ import annotations

from classifeed_common.publish_mark.pusher import MarkPusher
from classifeed_common.publish_mark.versions import FIRST_VERSION, NEXT_VERSION, next_version

__all__ = ["FIRST_VERSION", "NEXT_VERSION", "MarkPusher", "next_version"]
