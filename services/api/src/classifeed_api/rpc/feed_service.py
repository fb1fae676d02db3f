"""FeedService: what a seller can do."""

from __future__ import annotations

from classifeed_api.rpc.explain import ExplainMethods
from classifeed_api.rpc.feeds import FeedMethods
from classifeed_api.rpc.fetches import FetchMethods
from classifeed_api.rpc.formats import FormatMethods
from classifeed_api.rpc.tasks import TaskMethods
from classifeed_api.rpc.uploads import UploadMethods


class FeedService(UploadMethods, FeedMethods, FetchMethods, FormatMethods, TaskMethods, ExplainMethods):
    """Uploads and feeds are kept here; tasks and formats are asked of the processor, fetches of the loader."""
