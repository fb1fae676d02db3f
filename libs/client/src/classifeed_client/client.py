"""All calls in one client."""

# Written from aio/client.py by `python -m tools.sync_client`: change it there.

from __future__ import annotations

from classifeed_client.feeds import FeedCalls
from classifeed_client.fetches import FetchCalls
from classifeed_client.formats import FormatCalls
from classifeed_client.loads import LoadCalls
from classifeed_client.offers import OfferCalls


class Client(LoadCalls, FeedCalls, FetchCalls, FormatCalls, OfferCalls):
    """Calls one installation; made and closed as its Connection says."""
