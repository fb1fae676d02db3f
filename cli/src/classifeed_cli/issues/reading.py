"""Iteration over the issues of a load, page by page, so that a command reads only the issues that it shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from classifeed.feeds.v1 import load_pb2, task_service_pb2
from classifeed_client import Client

_PAGE: Final = 1000


class Issues:
    """The issues of a load; iterate once.

    Args:
        client: Client that sends the requests.
        request: Filter of the issues, without a page token.
    """

    def __init__(self, client: Client, request: task_service_pb2.ListOfferErrorsRequest) -> None:
        self._client = client
        self._request = request

    def __iter__(self) -> Iterator[load_pb2.OfferError]:
        token = None
        while token is None or token:
            request = task_service_pb2.ListOfferErrorsRequest(page_size=_PAGE, page_token=token or "")
            request.MergeFrom(self._request)
            page = self._client.list_offer_errors(request)
            yield from page.errors
            token = page.next_page_token
