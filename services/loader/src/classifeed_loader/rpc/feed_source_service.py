"""FeedSourceService: stores sources, and returns the state of their fetches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import structlog

from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed.feeds.v1.feed_source_service_pb2 import (
    GetFetchRequest,
    GetSourceStatesRequest,
    GetSourceStatesResponse,
    ListFetchesRequest,
    ListFetchesResponse,
    ListSourcesRequest,
    ListSourcesResponse,
    PutSourcesRequest,
    PutSourcesResponse,
    RunSourceRequest,
)
from classifeed.feeds.v1.feed_source_service_pb2_grpc import FeedSourceServiceServicer
from classifeed_common.db import Database
from classifeed_common.errors import FieldViolation, InvalidArgument, NotFound
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.paging import page_token_refused
from classifeed_domain.namespace_names import namespace_name, parse_namespace
from classifeed_jobs import JobStore
from classifeed_loader.app.run_source import run_source
from classifeed_loader.domain.fetches import FetchKey
from classifeed_loader.store import reading, sources

_log = structlog.get_logger(__name__)
_DEFAULT_PAGE: Final = 50
_DEFAULT_PAGE_SOURCES: Final = 500
_LAST_FETCH_ID: Final = (1 << 63) - 1


class FeedSourceService(FeedSourceServiceServicer):
    """Writes and reads the tables of sources and fetches.

    Args:
        database: database of the tables.
        jobs: job store for requested fetches.
        min_interval_s: shortest time between two scheduled fetches of a source, in seconds.
        on_change: called after each commit that may have made a source due.
    """

    def __init__(
        self, database: Database, jobs: JobStore, *, min_interval_s: float, on_change: Callable[[], None] = lambda: None
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._min_interval_s = min_interval_s
        self._on_change = on_change

    async def PutSources(self, request: PutSourcesRequest, context: Context) -> PutSourcesResponse:
        """Store sources, except those whose newer version is known."""
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            versions = await sources.put(tx, request.sources, min_interval_s=self._min_interval_s)
        for source, version in zip(request.sources, versions, strict=True):
            if version > source.feed_version:
                seller, namespace = source.seller_id, source.namespace
                _log.debug("loader.source.stale", seller=seller, namespace=namespace, version=version)
        self._on_change()
        return PutSourcesResponse(feed_versions=versions)

    async def RunSource(self, request: RunSourceRequest, context: Context) -> Fetch:
        """Store a source and have it fetched now.

        Raises:
            FailedPrecondition: it is removed.
            InvalidArgument: the request_id was used for another namespace.
        """
        key = await run_source(
            self._database, self._jobs, request, min_interval_s=self._min_interval_s, timeout_s=remaining_s()
        )
        self._on_change()
        return await self._get_fetch(key)

    async def GetSourceStates(self, request: GetSourceStatesRequest, context: Context) -> GetSourceStatesResponse:
        """Return the fetch state for each name, in order."""
        names = [_namespace("names", name) for name in request.names]
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            return GetSourceStatesResponse(states=await sources.list_states(tx, names))

    async def ListSources(self, request: ListSourcesRequest, context: Context) -> ListSourcesResponse:
        """Return a page of the namespaces whose source is not removed."""
        after = _namespace("after", request.after) if request.after else ("", "")
        limit = request.page_size or _DEFAULT_PAGE_SOURCES
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            found = await sources.list_names(tx, after, limit=limit)
        return ListSourcesResponse(names=[namespace_name(*key) for key in found])

    async def GetFetch(self, request: GetFetchRequest, context: Context) -> Fetch:
        """Return one fetch.

        Raises:
            NotFound: there is none.
        """
        try:
            key = FetchKey.parse(request.name)
        except ValueError as error:
            raise _wrong("name", str(error)) from error
        return await self._get_fetch(key)

    async def ListFetches(self, request: ListFetchesRequest, context: Context) -> ListFetchesResponse:
        """Return a page of a namespace's fetches, newest first."""
        seller_id, namespace = _namespace("parent", request.parent)
        limit = request.page_size or _DEFAULT_PAGE
        before = _read_token(request.page_token)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            fetches = await reading.list_fetches(tx, seller_id, namespace, before=before, limit=limit + 1)
        token = str(fetches[limit - 1].fetch_id) if len(fetches) > limit else ""
        return ListFetchesResponse(fetches=fetches[:limit], next_page_token=token)

    async def _get_fetch(self, key: FetchKey) -> Fetch:
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            fetch = await reading.find_fetch(tx, key)
        if fetch is None:
            raise NotFound(
                "FETCH_NOT_FOUND", f"There is no {key.name}, or it is so old that it was removed. List the fetches."
            )
        return fetch


def _namespace(field: str, name: str) -> tuple[str, str]:
    try:
        return parse_namespace(name)
    except ValueError as error:
        raise _wrong(field, str(error)) from error


def _wrong(field: str, message: str) -> InvalidArgument:
    return InvalidArgument(f"{field.upper()}_INVALID", message, violations=[FieldViolation(field, message)])


def _read_token(token: str) -> int:
    """Return the last fetch id of the previous page; the largest possible id without a token."""
    if not token:
        return _LAST_FETCH_ID
    if not (token.isascii() and token.isdigit() and int(token) <= _LAST_FETCH_ID):
        raise page_token_refused()
    return int(token)
