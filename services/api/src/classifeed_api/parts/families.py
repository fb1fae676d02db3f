"""The families of methods that FeedService is joined from."""

from __future__ import annotations

from classifeed_api.app.explain_offer import ExplainOffer
from classifeed_api.app.feeds.check_format import CheckFormat
from classifeed_api.app.feeds.create_feed import CreateFeed
from classifeed_api.app.feeds.delete_feed import DeleteFeed
from classifeed_api.app.feeds.join_loads import JoinLoads
from classifeed_api.app.feeds.keep_credentials import KeepCredentials
from classifeed_api.app.feeds.read_feeds import ReadFeeds
from classifeed_api.app.feeds.run_feed import RunFeed
from classifeed_api.app.feeds.switch_feed import SwitchFeed
from classifeed_api.app.feeds.update_feed import UpdateFeed
from classifeed_api.app.uploads.limit_uploads import UploadSlots
from classifeed_api.app.uploads.store_upload import StoreUpload
from classifeed_api.domain.feed_settings import Limits
from classifeed_api.parts import Parts
from classifeed_api.rpc.feed_service.explanations import ExplanationMethods
from classifeed_api.rpc.feed_service.feeds import FeedMethods
from classifeed_api.rpc.feed_service.fetches import FetchMethods
from classifeed_api.rpc.feed_service.formats import FormatMethods
from classifeed_api.rpc.feed_service.tasks import TaskMethods
from classifeed_api.rpc.feed_service.uploads import UploadMethods


def feed_families(parts: Parts) -> tuple[object, ...]:
    """Return the objects whose methods together serve FeedService."""
    processor, loader = parts.processor, parts.loader
    join_loads = JoinLoads(processor)
    explain = ExplainOffer(parts.database, processor, loader, parts.offers, parts.searcher)
    return (
        _upload_methods(parts),
        _feed_methods(parts, join_loads),
        FetchMethods(loader, join_loads),
        FormatMethods(processor),
        TaskMethods(processor),
        ExplanationMethods(explain),
    )


def _upload_methods(parts: Parts) -> UploadMethods:
    settings = parts.settings
    return UploadMethods(
        parts.database,
        StoreUpload(parts.database, parts.blobs, parts.refs, on_stored=parts.tasks.wake),
        UploadSlots(settings.upload_streams, settings.upload_streams_per_seller),
        spool_dir=settings.spool_dir,
        limit_bytes=settings.upload_limit_bytes,
    )


def _feed_methods(parts: Parts, join_loads: JoinLoads) -> FeedMethods:
    database, changed = parts.database, parts.sources.wake
    limits = Limits(parts.settings.min_interval_s, parts.settings.allow_loopback)
    credentials, formats = KeepCredentials(parts.cipher), CheckFormat(parts.processor)
    return FeedMethods(
        create=CreateFeed(database, limits, credentials, formats, on_changed=changed),
        read=ReadFeeds(database, parts.loader, join_loads),
        update=UpdateFeed(database, limits, credentials, formats, on_changed=changed),
        switch=SwitchFeed(database, on_changed=changed),
        delete=DeleteFeed(database, parts.processor, on_changed=changed, on_deleted=parts.tasks.wake),
        run=RunFeed(database, parts.loader),
    )
