"""The client with all calls."""

from __future__ import annotations

from classifeed_client.aio.feeds import FeedCalls
from classifeed_client.aio.fetches import FetchCalls
from classifeed_client.aio.formats import FormatCalls
from classifeed_client.aio.loads import LoadCalls
from classifeed_client.aio.offers import OfferCalls


class Client(LoadCalls, FeedCalls, FetchCalls, FormatCalls, OfferCalls):
    """Client of one installation. See Connection for how to create and close it."""
