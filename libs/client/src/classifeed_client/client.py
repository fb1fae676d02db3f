"""The client with all calls."""

# Written from aio/client.py by `make stubs`: change it there.

from __future__ import annotations

from classifeed_client.feeds import FeedCalls
from classifeed_client.fetches import FetchCalls
from classifeed_client.formats import FormatCalls
from classifeed_client.loads import LoadCalls
from classifeed_client.offers import OfferCalls


class Client(LoadCalls, FeedCalls, FetchCalls, FormatCalls, OfferCalls):
    """Client of one installation. See Connection for how to create and close it."""
