"""One picture and its lifecycle, with a fake clock."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from classifeed.pictures.v1.orders_pb2 import Unchanged
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_pictures.domain.lifecycle.effects import Effects
from classifeed_pictures.domain.lifecycle.events import Deletion, Event, GivenUp, Loaded, Look, Request, Unused
from classifeed_pictures.domain.lifecycle.lifecycle import Lifecycle
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.recipients import OFFERS, Recipient
from classifeed_pictures.domain.lifecycle.states import State, name_picture

START = datetime(2026, 11, 24, 12, tzinfo=UTC)
URL = "https://shop.example/1.jpg"
HASH = bytes(16)
RULES = LifecycleRules(order_timeout=timedelta(hours=1), delete_after=timedelta(hours=24))
NOT_FOUND = LoadFailure(code="HTTP_NOT_FOUND", http_status=404)
HOST_DOWN = LoadFailure(code="CONNECT_REFUSED")
GONE = LoadFailure(code="HTTP_GONE", http_status=410)


def info(namespace: str = "offers", content: bytes = b"1") -> PictureInfo:
    """Return a stored picture."""
    group_id, name = name_picture(HASH, content)
    return PictureInfo(namespace=namespace, group_id=group_id, name=name, content_hash=content)


@dataclass
class Life:
    """A picture to which events are applied, each in a separate poll."""

    now: datetime = START
    state: State | None = None
    is_changed: bool = False
    seen: list[Effects] = field(default_factory=list)
    recipients: set[Recipient] = field(default_factory=set)

    def pass_time(self, **time: float) -> None:
        self.now += timedelta(**time)

    def happen(self, *events: Event) -> Effects:
        """Apply events in one poll."""
        before = copy.deepcopy(self.state)
        life = Lifecycle(URL, HASH, self.state, self.now, RULES, self.recipients).apply(events)
        assert self.state == before, "the given state is a value that stays"
        self.state, self.is_changed = life.state, life.is_changed
        self.seen.append(life.effects)
        requests = [event for event in events if isinstance(event, Request)]
        self.recipients |= {Recipient(each.namespace, each.recipient, each.client) for each in requests}
        ended = life.effects.forgotten
        self.recipients = {
            each
            for each in self.recipients
            if not ended & {"", each.namespace} and (each.namespace, each.name) not in life.effects.given_up
        }
        return life.effects

    def request(
        self,
        namespace: str = "offers",
        reference: str = "1",
        at: datetime | None = None,
        *,
        recipient: str = "seller",
        client: str = OFFERS,
    ) -> Request:
        return Request(namespace, recipient, reference, URL, at or self.now, client)

    def loaded(
        self,
        outcome: PictureInfo | LoadFailure | Unchanged,
        attempt: int,
        namespace: str = "offers",
        fresh_for: timedelta | None = None,
    ) -> Loaded:
        return Loaded(namespace, attempt, outcome, self.now, fresh_for)

    def look(self, *, is_forced: bool = False) -> Look:
        return Look(is_forced, self.now)

    def unused(self, at: datetime | None = None) -> Unused:
        return Unused(at or self.now)

    def given_up(self, recipient: str, namespace: str = "") -> GivenUp:
        return GivenUp(namespace, recipient, self.now)

    def deletion(self, namespace: str = "") -> Deletion:
        return Deletion(namespace, self.now)
