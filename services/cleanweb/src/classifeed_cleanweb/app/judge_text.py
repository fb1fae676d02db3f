"""TextJudge: judges a text by rules and by earlier reviews, or has people review it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from classifeed_cleanweb.automatics import Automatics
from classifeed_cleanweb.automatics.found import Finding
from classifeed_cleanweb.domain.projects import kind_of, projects_of
from classifeed_cleanweb.metrics import JUDGED
from classifeed_cleanweb.store import reviews
from classifeed_cleanweb.store.reviews import NewRequest
from classifeed_common.db import Database
from classifeed_common.rpc.call import remaining_s

AUTOMATIC: Final = "automatic"
PEOPLE: Final = "people"
_HASH_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict, and the findings that it rests on."""

    name: str
    source: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What is known of a text now: all verdicts, or nothing while people have it."""

    verdicts: tuple[Verdict, ...] = ()
    with_people: bool = False


class TextJudge:
    """Judges texts.

    Args:
        current: returns the automatic rules in force.
        auto_pass: whether a text without findings and with a low score passes without a review.
        pass_score: the highest score with which it does.
        kept_s: how long reviews are kept for equal texts.
    """

    def __init__(
        self,
        database: Database,
        current: Callable[[], Automatics],
        *,
        auto_pass: bool,
        pass_score: float,
        kept_s: float,
    ) -> None:
        self._database = database
        self._current = current
        self._auto_pass = auto_pass
        self._pass_score = pass_score
        self._kept_s = kept_s

    async def __call__(
        self, *, service: str, environment: str, key: str, text: str, region_ids: Sequence[int]
    ) -> Judged:
        """Return the verdicts about a text; without any, a review is open when this returns.

        Asked again with the same key and text, it joins the review that is open.
        """
        kind = kind_of(key)
        found = self._current().judge(text, region_ids, kind)
        if found.findings:
            JUDGED.labels("automatic").inc()
            return Judged(_verdicts_of(found.findings))
        projects = projects_of(kind, region_ids)
        normalised = " ".join(text.casefold().split())
        cache_key = _hash("\0".join((*projects, normalised)))
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            kept = await reviews.find_kept(tx, cache_key, age_s=self._kept_s)
            if kept is not None:
                JUDGED.labels("kept").inc()
                return Judged(tuple(Verdict(name, PEOPLE) for name in kept))
            if self._auto_pass and found.score <= self._pass_score:
                JUDGED.labels("passed").inc()
                return Judged()
            request = NewRequest(service, environment, key, text, _hash(text), cache_key)
            is_new = await reviews.open_request(tx, request, projects)
        JUDGED.labels("opened" if is_new else "joined").inc()
        return Judged(with_people=True)


def _verdicts_of(findings: Sequence[Finding]) -> tuple[Verdict, ...]:
    by_name: dict[str, list[Finding]] = {}
    for finding in findings:
        by_name.setdefault(finding.verdict_name, []).append(finding)
    return tuple(Verdict(name, AUTOMATIC, tuple(found)) for name, found in sorted(by_name.items()))


def _hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=_HASH_BYTES).digest()
