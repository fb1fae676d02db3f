"""The calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import grpc
from opentelemetry.instrumentation.grpc import client_interceptor
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel

from classifeed.feeds.v1 import feed_service_pb2, task_pb2, task_service_pb2
from classifeed.feeds.v1.feed_service_pb2_grpc import FeedServiceStub
from classifeed.offers.v1 import offer_pb2, offer_service_pb2
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed.search.v1 import search_service_pb2
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceStub
from classifeed_client.errors import DeadlineExceeded, Unreachable, error_of

T = TypeVar("T")
_CHUNK_BYTES = 256 * 1024
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the services listen, host:port."""

    api: str
    offers: str
    searcher: str


class Client:
    """Calls one installation. Blocks; may be shared by threads; close it, or use it in a `with` block.

    Args:
        addresses: where the services listen.
        token: asked before each call for the bearer token, so that a renewed one is used.
        timeout_s: how long a call may take, unless it says otherwise.
        connect: opens a channel to an address; without TLS unless given.
    """

    def __init__(
        self,
        addresses: Addresses,
        token: Callable[[], str],
        *,
        timeout_s: float = 10.0,
        connect: Callable[[str], grpc.Channel] | None = None,
    ) -> None:
        self._token = token
        self._timeout_s = timeout_s
        self._channels = {
            name: (connect or _open_channel)(getattr(addresses, name)) for name in ("api", "offers", "searcher")
        }
        # The stubs' types are those of grpc.aio; over a synchronous channel the same stubs block.
        self._feeds: Any = FeedServiceStub(cast(Any, self._channels["api"]))
        self._offers: Any = OfferServiceStub(cast(Any, self._channels["offers"]))
        self._search: Any = SearchServiceStub(cast(Any, self._channels["searcher"]))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        for channel in self._channels.values():
            channel.close()

    def _options(self, timeout_s: float | None = None) -> dict[str, Any]:
        return {
            "metadata": (("authorization", f"Bearer {self._token()}"),),
            "timeout": self._timeout_s if timeout_s is None else timeout_s,
        }

    def _call(self, method: Any, request: object, _answer: type[T], timeout_s: float | None = None) -> T:
        with _translated():
            return cast(T, method(request, **self._options(timeout_s)))

    def upload_feed(
        self,
        file: Path,
        *,
        seller_id: str,
        namespace: str = "",
        mode: str = "REPLACE",
        disposition: str = "DELETE",
        request_id: str = "",
        force: bool = False,
        timeout_s: float = 600.0,
        on_sent: Callable[[int], None] | None = None,
    ) -> feed_service_pb2.Upload:
        """Hands in a file and returns the upload; `on_sent` is told the bytes sent so far.

        Raises:
            OSError: the file cannot be read.
            ApiError: the call did not succeed.
        """
        spec = feed_service_pb2.UploadSpec(
            seller_id=seller_id,
            namespace=namespace,
            mode=f"LOAD_MODE_{mode}",
            disposition=f"DISPOSITION_{disposition}",
            file_name=file.name[:255],
            request_id=request_id,
            force=force,
            size_bytes=file.stat().st_size,
        )
        with file.open("rb") as source:
            pieces = _pieces(spec, source, on_sent)
            return self._call(self._feeds.UploadFeed, pieces, feed_service_pb2.Upload, timeout_s)

    def get_upload(self, name: str) -> feed_service_pb2.Upload:
        """Returns an upload by its resource name."""
        return self._call(self._feeds.GetUpload, feed_service_pb2.GetUploadRequest(name=name), feed_service_pb2.Upload)

    def wait_for_task(self, upload: feed_service_pb2.Upload, *, timeout_s: float) -> str:
        """Returns the resource name of the task that loads an upload, as soon as it is made.

        Raises:
            DeadlineExceeded: it was not made in time; it will be, as the upload is stored.
        """
        ends_at = time.monotonic() + timeout_s
        while not upload.task:
            if time.monotonic() > ends_at:
                raise DeadlineExceeded(
                    "TASK_NOT_MADE",
                    f"The file is stored as {upload.name}, but its task was not made within {timeout_s:.0f} s. "
                    "It will be made as soon as the processor answers; look again with `classifeed task list`.",
                )
            time.sleep(_POLL_S)
            # A service that restarts is waited for: the file is stored, so its task will come.
            with suppress(Unreachable):
                upload = self.get_upload(upload.name)
        return upload.task

    def get_task(self, name: str) -> task_pb2.Task:
        """Returns a task by its resource name."""
        return self._call(self._feeds.GetTask, task_service_pb2.GetTaskRequest(name=name), task_pb2.Task)

    def watch_task(self, name: str, *, timeout_s: float) -> Iterator[task_pb2.Task]:
        """Yields the task at each change until it has ended or is held."""
        with _translated():
            yield from self._feeds.WatchTask(task_service_pb2.GetTaskRequest(name=name), **self._options(timeout_s))

    def list_tasks(
        self, parent: str, *, page_size: int = 0, page_token: str = ""
    ) -> task_service_pb2.ListTasksResponse:
        """Returns a page of the tasks of a namespace, the newest first."""
        request = task_service_pb2.ListTasksRequest(parent=parent, page_size=page_size, page_token=page_token)
        return self._call(self._feeds.ListTasks, request, task_service_pb2.ListTasksResponse)

    def list_offer_errors(
        self, request: task_service_pb2.ListOfferErrorsRequest
    ) -> task_service_pb2.ListOfferErrorsResponse:
        """Returns a page of what is wrong with the offers of a task."""
        return self._call(self._feeds.ListOfferErrors, request, task_service_pb2.ListOfferErrorsResponse)

    def get_offer(self, name: str) -> offer_pb2.Offer:
        """Returns an offer by its resource name."""
        return self._call(self._offers.GetOffer, offer_service_pb2.GetOfferRequest(name=name), offer_pb2.Offer)

    def list_offers(self, request: offer_service_pb2.ListOffersRequest) -> offer_service_pb2.ListOffersResponse:
        """Returns a page of the offers of a namespace."""
        return self._call(self._offers.ListOffers, request, offer_service_pb2.ListOffersResponse)

    def search(self, request: search_service_pb2.SearchRequest) -> search_service_pb2.SearchResponse:
        """Returns a page of hits."""
        return self._call(self._search.Search, request, search_service_pb2.SearchResponse)

    def get_index_status(self, client: str = "offers") -> search_service_pb2.IndexStatus:
        """Returns how far the index has come."""
        request = search_service_pb2.GetIndexStatusRequest(client=client)
        return self._call(self._search.GetIndexStatus, request, search_service_pb2.IndexStatus)


def _open_channel(address: str) -> grpc.Channel:
    # Spans only where the caller has set tracing up; then a trace begins here and goes through every service.
    return cast(grpc.Channel, intercept_channel(grpc.insecure_channel(address), client_interceptor()))  # type: ignore[no-untyped-call]


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except grpc.RpcError as error:
        raise error_of(error) from error


def _pieces(
    spec: feed_service_pb2.UploadSpec, source: Any, on_sent: Callable[[int], None] | None
) -> Iterator[feed_service_pb2.UploadFeedRequest]:
    yield feed_service_pb2.UploadFeedRequest(spec=spec)
    sent = 0
    while chunk := source.read(_CHUNK_BYTES):
        yield feed_service_pb2.UploadFeedRequest(chunk=chunk)
        sent += len(chunk)
        if on_sent:
            on_sent(sent)
