"""Random lifecycles of a picture, with repeated and late events, and invariants."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from classifeed.pictures.v1.orders_pb2 import Unchanged
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_pictures.domain.lifecycle.events import Event
from classifeed_pictures.domain.lifecycle.orders import Copy, Delete, Download
from classifeed_pictures.domain.lifecycle.retries import QUOTA_EXCEEDED, SOURCE_GONE
from classifeed_pictures.domain.lifecycle.robots_tags import NOINDEX

from .lives import GONE, HOST_DOWN, NOT_FOUND, Life, info

LIVES = 2_000 if IS_LONG else 60
NAMESPACES = ("offers", "shops", "maps")
FAILURES = (
    NOT_FOUND,
    HOST_DOWN,
    GONE,
    LoadFailure(code=NOINDEX),
    LoadFailure(code=QUOTA_EXCEEDED),
    LoadFailure(code=SOURCE_GONE),
)


class World:
    """Fake downloader, copier and clients of one picture. Orders are carried out late, twice, or never."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.life = Life()
        self.stored: dict[tuple[str, int, str], int] = {}
        self.open: list[Download | Copy | Delete] = []
        self.results: list[Event] = []
        self.waiting: set[tuple[str, str]] = set()
        self.results_of: dict[tuple[str, str], tuple[int, bool]] = {}
        self.contents = 0
        # The picture of the highest attempt that each settled request has received.
        self.shown: dict[tuple[str, str], tuple[int, PictureInfo]] = {}
        self.settled: set[tuple[str, str]] = set()

    def step(self) -> None:
        self.life.pass_time(seconds=self.random.choice((0.001, 1, 600, 4000, 90_000, 2_700_000)))
        match self.random.randrange(8):
            case 0 | 1 | 2:
                self.happen(self.life.request(self.random.choice(NAMESPACES), str(self.random.randrange(4))))
            case 3 | 4:
                self.carry_out()
            case 5:
                if self.results:
                    self.happen(*self.random.choices(self.results[-4:], k=self.random.randrange(1, 3)))
            case 6:
                self.happen(self.life.look(is_forced=self.random.random() < 0.3))
            case 7:
                old = self.life.unused(self.life.now - timedelta(hours=self.random.choice((0, 0, 48))))
                self.happen(self.life.deletion() if self.random.random() < 0.2 else old)

    def carry_out(self) -> None:
        if not self.open:
            return
        order = self.open.pop(self.random.randrange(len(self.open)))
        if isinstance(order, Delete):
            key = (order.info.namespace, order.info.group_id, order.info.name)
            if self.stored.get(key, order.attempt + 1) <= order.attempt:
                del self.stored[key]
            return
        if self.random.random() < 0.1:
            return
        outcome: PictureInfo | LoadFailure | Unchanged = self.random.choice(FAILURES)
        is_refresh = isinstance(order, Download) and order.held is not None
        if is_refresh and self.random.random() < 0.4:
            outcome = Unchanged(source_etag=str(self.random.randrange(3)))
        elif self.random.random() < 0.6:
            self.contents += self.random.randrange(2)
            outcome = info(order.namespace, str(self.contents).encode())
            key = (outcome.namespace, outcome.group_id, outcome.name)
            self.stored[key] = max(self.stored.get(key, 0), order.attempt)
        elif isinstance(outcome, LoadFailure) and outcome.code == SOURCE_GONE and not isinstance(order, Copy):
            outcome = HOST_DOWN
        self.results.append(self.life.loaded(outcome, order.attempt, order.namespace))
        if self.random.random() < 0.9:
            self.happen(self.results[-1])

    def happen(self, *events: Event) -> None:
        effects = self.life.happen(*events)
        self.open += effects.orders
        for namespace, change in effects.changed.items():
            for who in [who for who in self.settled if who[0] == namespace]:
                self.receive(who, change.attempt, change.result)
        for namespace, found in effects.waiting.items():
            reported = {who for who in self.waiting if who[0] == namespace}
            for who in reported:
                self.receive(who, found.attempt, found.result)
            if isinstance(found.result, PictureInfo):
                self.waiting -= reported
                self.settled |= reported
        if effects.forgotten:
            forgotten = {who for who in self.waiting if who[0] in effects.forgotten or "" in effects.forgotten}
            self.waiting -= forgotten
            for who in forgotten:
                self.results_of.pop(who, None)
            self.settled = {who for who in self.settled if not {who[0], ""} & effects.forgotten}
        for given in effects.results:
            self.receive((given.request.namespace, given.request.reference), given.attempt, given.result)
        self.waiting |= {(request.namespace, request.reference) for request, _ in effects.remembered.values()}
        self.settled |= {(request.namespace, request.reference) for request in effects.settled}

    def receive(self, who: tuple[str, str], attempt: int, result: PictureInfo | LoadFailure) -> None:
        is_picture = isinstance(result, PictureInfo)
        known = self.results_of.get(who)
        if known is None or attempt >= known[0]:
            self.results_of[who] = (attempt, is_picture)
        if isinstance(result, PictureInfo) and (who not in self.shown or attempt >= self.shown[who][0]):
            self.shown[who] = (attempt, result)

    def check(self) -> None:
        state = self.life.state
        if state is None:
            assert not self.waiting, "a request waits without a state"
            return
        held = {name for name, holding in state.holdings.items() if holding.info is not None}
        assert not {who for who in self.waiting if who[0] in held}, "a request waits for a held picture"
        assert {who[0] for who in self.waiting} <= set(state.holdings)
        downloads = [
            holding
            for holding in state.holdings.values()
            if holding.ordered_at is not None
            and not holding.is_copy
            and self.life.now < holding.ordered_at + timedelta(hours=1)
        ]
        assert len(downloads) <= 1, "one URL has two open downloads"
        for namespace in held:
            kept = state.holdings[namespace].info
            assert kept is not None
            assert (namespace, kept.group_id, kept.name) in self.stored, "a held picture was deleted"
            for who in self.settled:
                if who[0] == namespace:
                    assert self.shown[who][1].name == kept.name, "a recipient shows a picture that is no longer held"
        if held:
            assert state.is_put or state.next_attempt_at is not None, "it is never refreshed"
        is_never = state.failure is not None and state.next_attempt_at is None
        assert held == set(state.holdings) or state.next_attempt_at is not None or is_never, "it is never checked again"

    def settle(self) -> None:
        """Carry out all orders and passes, until nothing changes any more."""
        for _ in range(200):
            self.life.pass_time(days=8)
            if self.open:
                order = self.open.pop()
                if isinstance(order, Delete):
                    key = (order.info.namespace, order.info.group_id, order.info.name)
                    if self.stored.get(key, order.attempt + 1) <= order.attempt:
                        del self.stored[key]
                else:
                    outcome = info(order.namespace, b"last")
                    key = (outcome.namespace, outcome.group_id, outcome.name)
                    self.stored[key] = max(self.stored.get(key, 0), order.attempt)
                    self.happen(self.life.loaded(outcome, order.attempt, order.namespace))
            else:
                self.life.pass_time(days=40)
                self.happen(self.life.look(is_forced=True))


@pytest.mark.parametrize("seed", range(LIVES))
def test_whatever_happens(seed: int) -> None:
    world = World(seed)
    for _ in range(120):
        world.step()
        world.check()
    world.settle()
    world.check()
    assert not world.waiting, "a request was never settled"
    if world.life.state is not None:
        contents = {holding.info.content_hash for holding in world.life.state.holdings.values() if holding.info}
        assert contents <= {b"last"}, "a namespace keeps a picture that its host has replaced"
