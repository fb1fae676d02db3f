"""Client of the loader's FeedSourceService."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import grpc

from classifeed.feeds.v1.feed_pb2 import FeedSourceState, Fetch
from classifeed.feeds.v1.feed_source_service_pb2 import (
    GetFetchRequest,
    GetSourceStatesRequest,
    ListSourcesRequest,
    PutSourcesRequest,
    RunSourceRequest,
    SourceRecord,
)
from classifeed.feeds.v1.feed_source_service_pb2_grpc import FeedSourceServiceStub
from classifeed_api.clients.asking import ask
from classifeed_api.domain.unknown import UNKNOWN, Unknown
from classifeed_common.errors import Unavailable
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.status import from_rpc_error

# At most half of the caller's remaining time, so that there is time left to respond without the states.
_SHARE_FOR_STATES: Final = 0.5
_STATES_TIMEOUT_S: Final = 1.0


class LoaderClient:
    """Sends feeds to the loader, and reads the state of their fetches.

    Args:
        channel: channel to the loader.
        states_timeout_s: timeout of reads of states, in seconds.

    Attributes:
        stub: stub for calls that are passed on unchanged.
    """

    def __init__(self, channel: grpc.aio.Channel, *, states_timeout_s: float = _STATES_TIMEOUT_S) -> None:
        self.stub = FeedSourceServiceStub(channel)
        self._states_timeout_s = states_timeout_s

    async def put_sources(self, sources: Sequence[SourceRecord]) -> Sequence[int]:
        """Return for each source the version that the loader has after the call, in order; idempotent.

        Raises:
            DomainError: the error that the loader returned.
        """
        try:
            response = await self.stub.PutSources(PutSourcesRequest(sources=sources))
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        return list(response.feed_versions)

    async def run_source(self, source: SourceRecord, *, force: bool, request_id: str) -> Fetch:
        """Return the fetch that was queued; idempotent by request_id.

        Raises:
            Unavailable: the loader cannot be reached.
            grpc.aio.AioRpcError: another error that the loader returned.
        """
        try:
            return await self.stub.RunSource(RunSourceRequest(source=source, force=force, request_id=request_id))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                raise Unavailable(
                    "LOADER_UNAVAILABLE",
                    "The service that fetches feeds does not respond. Try again in a moment; with the same "
                    "request_id nothing is fetched twice.",
                    retry_after_s=2,
                ) from error
            raise

    async def list_sources(self, after: str) -> Sequence[str]:
        """Return the resource names of the first namespaces after `after`, without removed sources.

        Raises:
            grpc.aio.AioRpcError: the loader returned an error, or did not respond in time.
        """
        request = ListSourcesRequest(after=after)
        return (await self.stub.ListSources(request, timeout=self._states_timeout_s)).names

    async def list_states(self, names: Sequence[str]) -> Sequence[FeedSourceState]:
        """Return a state for each resource name, in order; feed_version is 0 for an unknown one.

        Raises:
            grpc.aio.AioRpcError: the loader returned an error, or did not respond in time.
        """
        left_s = remaining_s()
        timeout_s = self._states_timeout_s
        if left_s is not None:
            timeout_s = min(timeout_s, left_s * _SHARE_FOR_STATES)
        response = await self.stub.GetSourceStates(GetSourceStatesRequest(names=names), timeout=timeout_s)
        return response.states

    async def find_state(self, name: str, *, timeout_s: float) -> FeedSourceState | Unknown:
        """Return the state of a feed by its resource name; UNKNOWN if there is no response in time."""
        request = GetSourceStatesRequest(names=[name])
        response = await ask(self.stub.GetSourceStates(request, timeout=timeout_s), "state of the feed")
        if response is None or response is UNKNOWN:
            return UNKNOWN
        [state] = response.states
        return state

    async def find_fetch(self, name: str, *, timeout_s: float) -> Fetch | Unknown | None:
        """Return a fetch by its resource name; None if there is none, UNKNOWN if there is no response."""
        return await ask(self.stub.GetFetch(GetFetchRequest(name=name), timeout=timeout_s), "fetch")
