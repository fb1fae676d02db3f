"""Verify an index: compare it with the registry periodically, and request a rebuild if it differs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from classifeed_common.loops import Loop, Looping
from classifeed_common.pacing.backoff import Backoff
from classifeed_domain.document_shards import SHARDS
from classifeed_searcher.app.compare_digests import Outcome, Verdict, compare_digests
from classifeed_searcher.clients.receiver import ReceiverClient
from classifeed_searcher.clients.topic_log import TopicLog
from classifeed_searcher.domain.rebuild import DIFFERENCE, OTHER_EPOCH, Cause
from classifeed_searcher.metrics import COMPARED, DIFFERING
from classifeed_searcher.store.generation import EMERGENCY, MAIN, IndexGeneration
from classifeed_searcher.store.live_index import LiveIndex

_log = structlog.get_logger(__name__)

_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 30.0
# The registry sums up 200,000 documents a second, and one call has a timeout of two minutes.
_DOCUMENTS_AT_ONCE: Final = 4_000_000
_REPAIR_INTERVAL_S: Final = 3600.0
# Shards that were changing are compared again after this share of the interval: each digest scans their documents.
_RETRY_SHARE: Final = 0.1


class IndexVerifier(Looping):
    """Compares all shards every `interval_s`, and shards at once if a reader of the backlog waits for them.

    If two comparisons find a difference, it requests a rebuild, at most once an hour: another rebuild
    would not correct a difference that the last one left. `blocked` reports such a difference.
    """

    def __init__(
        self,
        live: LiveIndex,
        receiver: ReceiverClient,
        topic: TopicLog,
        request_rebuild: Callable[[Cause], None],
        *,
        interval_s: float,
        documents_at_once: int = _DOCUMENTS_AT_ONCE,
    ) -> None:
        self._live = live
        self._receiver = receiver
        self._topic = topic
        self._request_rebuild = request_rebuild
        self._interval_s = interval_s
        self._documents_at_once = documents_at_once
        self._verified: dict[int, tuple[int, int]] = {}  # ends of the shard's queues when it was equal
        self._suspected: dict[int, Verdict] = {}
        self._differing: dict[int, Verdict] = {}
        self._generation: IndexGeneration | None = None
        self._seen_ends: Mapping[int, Mapping[int, int]] = {}
        self._is_wanted = False
        self._next_full_s = 0.0
        self._retry_s = float("inf")
        self._next_repair_s = float("-inf")
        self.loop = Loop(
            self._verify_if_due,
            period_s=_PAUSE_S,
            name=f"comparing {live.client}",
            doing="comparing the index with the registry",
            effect="A difference would not be found",
            backoff=Backoff(2 * _PAUSE_S, _LONGEST_PAUSE_S),
            on_fault=self._compare_again,
            event="searcher.digest.waits",
        )

    def _compare_again(self, _error: Exception) -> None:
        self._is_wanted = True

    async def _verify_if_due(self) -> None:
        generation = self._live.generation
        if generation is None or self._live.rebuild is not None:
            return
        if generation is not self._generation:
            self._forget(generation)
        if self._is_wanted or self._suspected or time.monotonic() >= min(self._next_full_s, self._retry_s):
            await self.verify_once(generation)

    async def verify_once(self, generation: IndexGeneration) -> None:
        """Compare the shards that have changed since they were equal, or all shards if a full comparison is due.

        Raises:
            DomainError: the receiver or Kafka is unavailable.
        """
        self._is_wanted = False
        schema = await self._receiver.active_schema()
        if schema is not None and schema.epoch != generation.epoch:
            text = f"epoch {schema.epoch} is active, the index is of epoch {generation.epoch}"
            self._request_rebuild(Cause(OTHER_EPOCH, text, keeps_former=True))
            return
        is_full = time.monotonic() >= self._next_full_s
        shards = list(range(SHARDS)) if is_full else self._moved_since(await self._receiver.queue_ends())
        at_once = max(1, SHARDS * self._documents_at_once // max(1, generation.index.documents))
        verdicts: dict[int, Verdict] = {}
        for first in range(0, len(shards), at_once):
            part = shards[first : first + at_once]
            verdicts |= await compare_digests(self._receiver, self._topic, generation, part)
        self._judge(verdicts)
        now_s = time.monotonic()
        if is_full:
            self._next_full_s = now_s + self._interval_s
        is_left = any(verdict.outcome is Outcome.LATER for verdict in verdicts.values())
        self._retry_s = now_s + self._interval_s * _RETRY_SHARE if is_left else float("inf")

    async def backlog(self) -> dict[str, int]:
        """Return the number of shards that are not known to equal the registry.

        A second call while no queue has moved triggers a comparison of these shards.

        Raises:
            DomainError: the receiver is unavailable.
        """
        if self._live.generation is None or self._live.rebuild is not None:
            return {}  # the role that builds the index reports its backlog
        ends = await self._receiver.queue_ends()
        unverified = len(self._moved_since(ends))
        # Frequent calls (a scrape of metrics) must not trigger comparisons of shards that change all the time.
        if ends == self._seen_ends and (unverified or self._differing):
            self._is_wanted = True
        self._seen_ends = ends
        return {
            f"{self._live.client} shards to compare with the registry": unverified,
            f"{self._live.client} shards that differ from the registry": len(self._differing),
        }

    def blocked(self) -> Mapping[str, str]:
        """Return the differing shards with the next step, and the fault that prevents comparisons."""
        unread = self.loop.blocked()
        if not self._differing:
            return unread
        first = min(self._differing)
        next_step = (
            "the index is being rebuilt"
            if self._live.rebuild is not None
            else "rebuilding the index did not correct it; the next attempt is within the hour. Search for "
            "receiver.document.unreadable in the receiver's log and for searcher.refused in the searcher's"
        )
        text = f"{len(self._differing)} shards differ from the registry ({self._differing[first].text}): {next_step}"
        return {self._live.client: text, **unread}

    def _moved_since(self, ends: Mapping[int, Mapping[int, int]]) -> list[int]:
        """Return the shards that were not found equal at these ends of their queues."""
        return [shard for shard in range(SHARDS) if self._verified.get(shard) != _ends_of(ends.get(shard, {}))]

    def _forget(self, generation: IndexGeneration) -> None:
        self._generation = generation
        self._verified, self._suspected, self._differing = {}, {}, {}
        self._next_full_s, self._retry_s = 0.0, float("inf")
        self._show()

    def _judge(self, verdicts: Mapping[int, Verdict]) -> None:
        suspected: dict[int, Verdict] = {}
        for shard, verdict in verdicts.items():
            if verdict.outcome is not Outcome.LATER:
                COMPARED.labels(self._live.client, verdict.outcome.value).inc()
            if verdict.outcome is Outcome.DIFFERENT:
                self._verified.pop(shard, None)
                if shard in self._suspected or shard in self._differing:
                    self._differing[shard] = verdict
                else:
                    suspected[shard] = verdict
            elif verdict.outcome is Outcome.EQUAL:
                self._verified[shard] = verdict.ends
                self._differing.pop(shard, None)
            elif shard in self._suspected:
                suspected[shard] = self._suspected[shard]
        self._suspected = suspected
        self._show()
        if self._differing:
            self._repair()

    def _repair(self) -> None:
        now_s = time.monotonic()
        if now_s < self._next_repair_s:
            return
        self._next_repair_s = now_s + _REPAIR_INTERVAL_S
        texts = [self._differing[shard].text for shard in sorted(self._differing)]
        _log.error("searcher.digest.differs", client=self._live.client, shards=len(texts), first=texts[:5])
        self._request_rebuild(Cause(DIFFERENCE, f"it differs from the registry: {texts[0]}", keeps_former=True))

    def _show(self) -> None:
        self._live.equal = len(self._verified)
        self._live.differing = sorted(self._differing)
        DIFFERING.labels(self._live.client).set(len(self._differing))


def _ends_of(ends: Mapping[int, int]) -> tuple[int, int]:
    return ends.get(int(MAIN), 0), ends.get(int(EMERGENCY), 0)
