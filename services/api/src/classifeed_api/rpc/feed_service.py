"""FeedService: what a seller can do."""

from __future__ import annotations

from dataclasses import replace

from classifeed.feeds.v1.feed_service_pb2_grpc import add_FeedServiceServicer_to_server
from classifeed_api.rpc.explain import ExplainMethods
from classifeed_api.rpc.feeds import FeedMethods
from classifeed_api.rpc.fetches import FetchMethods
from classifeed_api.rpc.formats import FormatMethods
from classifeed_api.rpc.methods import Parts
from classifeed_api.rpc.tasks import TaskMethods
from classifeed_api.rpc.uploads import UploadMethods
from classifeed_common.rpc.server import Servicer


class FeedService(UploadMethods, FeedMethods, FetchMethods, FormatMethods, TaskMethods, ExplainMethods):
    """Uploads and feeds are kept here; tasks and formats are asked of the processor, fetches of the loader."""


def feed_servicer(parts: Parts) -> Servicer:
    """Return FeedService for the runner of the api."""
    service = FeedService(parts)
    return replace(Servicer.of(add_FeedServiceServicer_to_server, service), drain=service.drain)
