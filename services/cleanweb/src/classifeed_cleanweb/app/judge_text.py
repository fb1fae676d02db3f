"""JudgeText: judges texts by rules and by earlier reviews, or opens reviews by people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, NamedTuple

from classifeed_cleanweb.automatics import Automatics
from classifeed_cleanweb.automatics.found import Finding, Found
from classifeed_cleanweb.domain.projects import kind_of, projects_of
from classifeed_cleanweb.metrics import JUDGED
from classifeed_cleanweb.store import reviews
from classifeed_cleanweb.store.cleaning import KEPT_S
from classifeed_cleanweb.store.reviews import NewRequest
from classifeed_common.db import Database
from classifeed_common.pacing.yielding import Yielder
from classifeed_common.rpc.call import remaining_s

AUTOMATIC: Final = "automatic"
PEOPLE: Final = "people"
_HASH_BYTES: Final = 16
# Up to 4 µs a character: longer texts are judged in a thread.
_LONG_CHARS: Final = 5_000


class TextRequest(NamedTuple):
    """A text to judge, and its requester; a text that is only checked opens no review."""

    service: str
    environment: str
    key: str
    text: str
    region_ids: tuple[int, ...]
    is_check: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict, and the findings or the reviewers behind it."""

    name: str
    source: str
    findings: tuple[Finding, ...] = ()
    reviewers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """Current judgement of a text: all verdicts and their source, or nothing while people have the text."""

    verdicts: tuple[Verdict, ...] = ()
    source: str = AUTOMATIC
    with_people: bool = False


class JudgeText:
    """Judges texts.

    Args:
        database: database of the reviews.
        current: returns the current automatic rules.
        auto_pass: whether a text without findings and with a low score passes without a review.
        pass_score: highest score with which a text passes.
    """

    def __init__(
        self,
        database: Database,
        current: Callable[[], Automatics],
        *,
        auto_pass: bool,
        pass_score: float,
    ) -> None:
        self._database = database
        self._current = current
        self._auto_pass = auto_pass
        self._pass_score = pass_score
        # One at a time: a judging thread competes with the event loop, and must not compete with others, too.
        self._judging_long = asyncio.Lock()

    async def __call__(self, texts: Sequence[TextRequest]) -> list[Judged]:
        """Return the verdicts about each text. Without verdicts, a review is open on return unless it is only a check.

        A text that equals a text under review, with the same key or another, joins its reviews.
        """
        automatics = self._current()
        judged: list[Judged | None] = []
        undecided: list[_Undecided] = []
        yielder = Yielder()
        for text in texts:
            kind = kind_of(text.key)
            found = await self._find(automatics, text, kind)
            await yielder.yield_if_due()
            if found.findings:
                JUDGED.labels("automatic").inc()
                judged.append(Judged(_verdicts_of(found.findings)))
            else:
                projects = projects_of(kind, text.region_ids)
                undecided.append(_Undecided(len(judged), text, found.score, projects, _cache_key(text.text, projects)))
                judged.append(None)
        if undecided:
            for each, verdicts in zip(undecided, await self._look_up(undecided), strict=True):
                judged[each.place] = verdicts
        return [each for each in judged if each is not None]

    async def _find(self, automatics: Automatics, text: TextRequest, kind: str) -> Found:
        if len(text.text) <= _LONG_CHARS:
            return automatics.judge(text.text, text.region_ids, kind)
        async with self._judging_long:
            return await asyncio.to_thread(automatics.judge, text.text, text.region_ids, kind)

    async def _look_up(self, undecided: Sequence[_Undecided]) -> list[Judged]:
        judged: dict[int, Judged] = {}
        ways: list[str] = []
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            kept = await reviews.list_kept(tx, [each.cache_key for each in undecided], age_s=KEPT_S)
            if reviewed := [
                each.cache_key for each in undecided if each.cache_key not in kept and self._is_reviewed(each)
            ]:
                # A review may have ended before the lock was acquired.
                await reviews.lock_texts(tx, reviewed)
                kept |= await reviews.list_kept(tx, reviewed, age_s=KEPT_S)
            # A fixed order prevents a deadlock between two batches with the same texts.
            for each in sorted(undecided, key=lambda each: each.text.key):
                if (found := kept.get(each.cache_key)) is not None:
                    verdicts = (Verdict(name, PEOPLE, reviewers=found.reviewers) for name in found.verdicts)
                    judged[each.place] = Judged(tuple(verdicts), PEOPLE)
                    ways.append("kept")
                elif self._passes(each):
                    judged[each.place] = Judged()
                    ways.append("passed")
                elif each.text.is_check:
                    judged[each.place] = Judged(with_people=True)
                    ways.append("checked")
                else:
                    text = each.text
                    new = NewRequest(
                        text.service, text.environment, text.key, text.text, _hash(text.text), each.cache_key
                    )
                    is_new = await reviews.open_request(tx, new, each.projects)
                    judged[each.place] = Judged(with_people=True)
                    ways.append("opened" if is_new else "joined")
        for way in ways:
            JUDGED.labels(way).inc()
        return [judged[each.place] for each in undecided]

    def _passes(self, undecided: _Undecided) -> bool:
        return self._auto_pass and undecided.score <= self._pass_score

    def _is_reviewed(self, undecided: _Undecided) -> bool:
        return not (self._passes(undecided) or undecided.text.is_check)


class _Undecided(NamedTuple):
    """A text without findings, and its index in the request."""

    place: int
    text: TextRequest
    score: float
    projects: tuple[str, ...]
    cache_key: bytes


def _verdicts_of(findings: Sequence[Finding]) -> tuple[Verdict, ...]:
    by_name: dict[str, list[Finding]] = {}
    for finding in findings:
        by_name.setdefault(finding.verdict_name, []).append(finding)
    return tuple(Verdict(name, AUTOMATIC, tuple(found)) for name, found in sorted(by_name.items()))


def _hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=_HASH_BYTES).digest()


def _cache_key(text: str, projects: Sequence[str]) -> bytes:
    return _hash("\0".join((*projects, " ".join(text.casefold().split()))))
