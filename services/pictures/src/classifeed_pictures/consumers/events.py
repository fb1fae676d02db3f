"""Consumes pictures.events.v1: changes the states of pictures, and sends orders and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opentelemetry.context import Context

from classifeed_common.db import Tx
from classifeed_common.kafka import Record, decode_all, trace_of
from classifeed_common.outbox import Outbox
from classifeed_pictures.app.events.process_events import PictureEvents, process_events
from classifeed_pictures.consumers.decode_events import decode_event
from classifeed_pictures.domain.lifecycle.events import Event
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules

GROUP: Final = "pictures"


class EventHandler:
    """Handles batches of events, for an OrderedConsumer.

    Args:
        outbox: outbox for orders and results.
        rules: times of the lifecycle of pictures.
    """

    def __init__(self, outbox: Outbox, rules: LifecycleRules) -> None:
        self._outbox = outbox
        self._rules = rules

    async def handle(self, tx: Tx, records: Sequence[Record]) -> None:
        """Process a batch of events. All events of a URL are in one partition, so they are handled in order.

        Raises:
            Poison: a record is no event, or breaks the protocol.
            StateChanged: a state was changed meanwhile; the batch is handled again.
        """
        urls: dict[bytes, str] = {}
        events: dict[bytes, list[Event]] = {}
        traces: dict[bytes, Context] = {}
        for record, (url, url_hash, event) in zip(records, decode_all(records, decode_event), strict=True):
            urls[url_hash] = url
            events.setdefault(url_hash, []).append(event)
            traces[url_hash] = trace_of(record)
        pictures = [PictureEvents(urls[key], key, happened, traces[key]) for key, happened in events.items()]
        await process_events(tx, pictures, outbox=self._outbox, rules=self._rules)
