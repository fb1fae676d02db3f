"""Makes one event of each request, notice and result, under the key of its URL and for the shard of that key."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.timestamp_pb2 import Timestamp
from opentelemetry.context import Context

from classifeed.pictures.v1.events_pb2 import (
    AdoptPictures,
    DeletePicture,
    EventSource,
    LookAgain,
    MovePicture,
    PictureEvent,
    PictureRequested,
)
from classifeed.pictures.v1.orders_pb2 import LoadResult
from classifeed.pictures.v1.requests_pb2 import PictureNotice, PictureRequest
from classifeed_common.kafka import Message, message_of
from classifeed_domain.topics import PICTURES_EVENTS
from classifeed_pictures.domain.item_faults import (
    REQUEST_INVALID,
    ItemFault,
    fault_of_deletion,
    fault_of_request,
    key_or_fault,
)
from classifeed_pictures.domain.urls.canonical import CanonicalRules, shard_of, url_hash


@dataclass(frozen=True, slots=True)
class EventMaker:
    """Makes events with one version of the rules.

    Attributes:
        rules: rules of canonical URLs.
        partitions: declared number of partitions of the topic of events; all makers need the same, or a URL has two
            shards.
        topic: topic of the events.
    """

    rules: CanonicalRules
    partitions: int
    topic: str = PICTURES_EVENTS

    def of_request(
        self,
        request: PictureRequest,
        *,
        recipient: str,
        source: EventSource,
        time: Timestamp,
        trace: Context | None,
        client: str = "",
    ) -> Message | ItemFault:
        """Return the event of a request as a message, or the fault of the request."""
        key = key_or_fault(request.url, self.rules)
        if isinstance(key, ItemFault):
            return key
        if (fault := fault_of_request(request.namespace, recipient, request.reference)) is not None:
            return fault
        requested = PictureRequested(
            namespace=request.namespace,
            recipient=recipient,
            reference=request.reference,
            client=client,
            requested_url=request.url if request.url != key else "",
        )
        return self._message(key, PictureEvent(source=source, event_time=time, requested=requested), trace)

    def of_notice(
        self, notice: PictureNotice, *, source: EventSource, time: Timestamp, trace: Context | None
    ) -> Message | ItemFault:
        """Return the event of a notice as a message, or the fault of the notice."""
        what = notice.WhichOneof("notice")
        if what is None:
            return ItemFault(REQUEST_INVALID, "The notice has no content")
        return self.of_change(
            notice.url, getattr(notice, what), source=source, time=time, trace=trace, is_exact=notice.exact
        )

    def of_change(
        self,
        url: str,
        change: LookAgain | DeletePicture | MovePicture | AdoptPictures,
        *,
        source: EventSource,
        time: Timestamp,
        trace: Context | None,
        is_exact: bool = False,
    ) -> Message | ItemFault:
        """Return the event of a change from a notice or a row of a file, or its fault.

        Args:
            url: URL or key of the picture.
            change: the change.
            source: where the change was read.
            time: time of the event.
            trace: trace of the event.
            is_exact: whether `url` is a key already, which the rules must not change.
        """
        key = key_or_fault(url, None if is_exact else self.rules)
        if isinstance(key, ItemFault):
            return key
        event = PictureEvent(source=source, event_time=time)
        if isinstance(change, LookAgain):
            event.look_again.CopyFrom(change)
        elif isinstance(change, MovePicture):
            event.move_picture.CopyFrom(change)
        elif isinstance(change, AdoptPictures):
            event.adopt_pictures.CopyFrom(change)
        elif (fault := fault_of_deletion(change)) is not None:
            return fault
        else:
            event.delete_picture.CopyFrom(change)
        return self._message(key, event, trace)

    def of_load(self, result: LoadResult, *, source: EventSource, time: Timestamp, trace: Context | None) -> Message:
        """Return the event of a result under the ordered key, even if the rules now give its URL another key."""
        event = PictureEvent(source=source, event_time=time, loaded=result)
        return self._message(result.url, event, trace)

    def _message(self, key: str, event: PictureEvent, trace: Context | None) -> Message:
        event.url = key
        event.url_hash = url_hash(key)
        partition = shard_of(event.url_hash, self.partitions)
        return message_of(self.topic, event.url_hash, event, partition=partition, trace=trace)
