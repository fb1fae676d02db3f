"""What the methods of FeedService work with. Each family of them is a class; FeedService is all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import grpc

from classifeed.feeds.v1.feed_service_pb2_grpc import FeedServiceServicer
from classifeed.feeds.v1.feed_source_service_pb2_grpc import FeedSourceServiceStub
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceStub
from classifeed_api.app.create_feed import CreateFeed
from classifeed_api.app.delete_feed import DeleteFeed
from classifeed_api.app.explain_offer import ExplainOffer
from classifeed_api.app.join_loads import JoinLoads
from classifeed_api.app.limit_uploads import UploadSlots
from classifeed_api.app.read_feeds import ReadFeeds
from classifeed_api.app.run_feed import RunFeed
from classifeed_api.app.store_upload import StoreUpload
from classifeed_api.app.switch_feed import SwitchFeed
from classifeed_api.app.update_feed import UpdateFeed
from classifeed_api.settings import ApiSettings
from classifeed_common.db import Database

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]


@dataclass(frozen=True, slots=True)
class FeedCases:
    """What can be done with feeds."""

    create: CreateFeed
    read: ReadFeeds
    update: UpdateFeed
    switch: SwitchFeed
    delete: DeleteFeed
    run: RunFeed


@dataclass(frozen=True, slots=True)
class Parts:
    """What the methods call: use cases, and services whose answers are passed on."""

    settings: ApiSettings
    db: Database
    store_upload: StoreUpload
    upload_slots: UploadSlots
    feeds: FeedCases
    explain_offer: ExplainOffer
    join_loads: JoinLoads
    tasks: TaskServiceStub
    sources: FeedSourceServiceStub


class Methods(FeedServiceServicer):
    """A family of methods; it may use any part."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
