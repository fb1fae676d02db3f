"""All calls in one client."""

from __future__ import annotations

from classifeed_client.feeds import FeedCalls
from classifeed_client.fetches import FetchCalls
from classifeed_client.formats import FormatCalls
from classifeed_client.offers import OfferCalls
from classifeed_client.tasks import TaskCalls
from classifeed_client.uploads import UploadCalls


class Client(UploadCalls, FeedCalls, FetchCalls, TaskCalls, FormatCalls, OfferCalls):
    """Calls one installation; made and closed as its Connection says."""
