"""Rules: the meaning of verdicts by region and kind; data that may change while the service runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.domain.verdicts import Verdict

ALL_ALLOWED: Final = "all_allowed"
NO_VERDICTS: Final = "no_verdicts"
UNKNOWN: Final = "unknown_verdict"


class UnknownVerdict(StrEnum):
    """Effect of a verdict without a rule."""

    FORBID = "forbid"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Case:
    """Meaning of a verdict for some kinds and regions.

    Attributes:
        is_allowed: whether the text may be shown.
        kinds: kinds of texts that the case applies to; empty: all.
        region_ids: regions that the case applies to; empty: everywhere.
        added_tags: tags that a point with the verdict gets.
        removed_tags: tags that a point with the verdict loses.
        is_shadow: whether the case is only counted, and the next case decides.
        message: reason of the refusal, for the author.
        suggestion: advice what to change.
    """

    is_allowed: bool
    kinds: frozenset[Kind] = frozenset()
    region_ids: frozenset[int] = frozenset()
    added_tags: tuple[str, ...] = ()
    removed_tags: tuple[str, ...] = ()
    is_shadow: bool = False
    message: str = ""
    suggestion: str = ""

    def region_of(self, kind: Kind, region_ids: Sequence[int]) -> int | None:
        """Return the region for which the case applies, 0 if it applies everywhere, None if it does not apply."""
        if self.kinds and kind not in self.kinds:
            return None
        if not self.region_ids:
            return 0
        return next((region for region in region_ids if region in self.region_ids), None)


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason of a refusal.

    Attributes:
        rule: name of the verdict that forbids the text, or UNKNOWN.
        region_id: region for which the rule applies; 0: everywhere.
        verdict: verdict that forbids the text, with its spans.
        message: reason for the author.
        suggestion: advice what to change.
    """

    rule: str
    region_id: int = 0
    verdict: Verdict | None = None
    message: str = ""
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Outcome of verdicts under the rules.

    Attributes:
        status: APPROVED or DISAPPROVED.
        rule: name of the verdict that forbids the text, or the reason why none does.
        tags: tags of the point afterwards, sorted.
        reason: reason of the refusal; None: the text is approved.
        unknown: verdicts without a rule.
        shadows: verdicts that a shadow rule would forbid.
    """

    status: Status
    rule: str
    tags: tuple[str, ...] = ()
    reason: Reason | None = None
    unknown: tuple[str, ...] = ()
    shadows: tuple[str, ...] = ()

    @property
    def region_id(self) -> int:
        """Region for which the rule applies; 0: everywhere."""
        return self.reason.region_id if self.reason is not None else 0


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules of one version of the rules file.

    Attributes:
        cases: cases of each verdict by its name; the first case that applies decides.
        unknown_verdict: effect of a verdict without a rule.
        exempt_phrases: phrases that need no verdict if the description consists of nothing else.
        exempt_tags: event types for which clients offer `lanes`.
    """

    cases: Mapping[str, tuple[Case, ...]]
    unknown_verdict: UnknownVerdict
    exempt_phrases: frozenset[str]
    exempt_tags: frozenset[str]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return the rules of a document that has passed its schema.

        Raises:
            ValueError: the last case of a verdict does not apply to all kinds and regions, or is in shadow mode.
        """
        cases = {name: tuple(map(_case, found)) for name, found in document["verdicts"].items()}
        for name, found in cases.items():
            last = found[-1]
            if last.kinds or last.region_ids or last.is_shadow:
                raise ValueError(
                    f"verdicts.{name}: its last case must apply to all kinds and regions, and not in shadow"
                )
        lanes = document.get("lanes", {})
        return cls(
            cases,
            UnknownVerdict(document["unknown_verdict"]),
            frozenset(phrase.casefold() for phrase in lanes.get("phrases", ())),
            frozenset(lanes.get("tags", ())),
        )

    def is_exempt(self, description: str, tags: Sequence[str]) -> bool:
        """Return whether a description names only `lanes`, of an event type for which clients offer them."""
        if not self.exempt_tags.intersection(tags):
            return False
        parts = [" ".join(part.casefold().split()) for part in description.split(",")]
        return all(part in self.exempt_phrases for part in parts)

    def judge(
        self, verdicts: Sequence[Verdict], *, kind: Kind, region_ids: Sequence[int], tags: Sequence[str] = ()
    ) -> Judgement:
        """Return the joint judgement of all verdicts about a text: a single one that forbids is enough."""
        unknown: list[str] = []
        shadows: list[str] = []
        reason: Reason | None = None
        tags_now = set(tags)
        for verdict in verdicts:
            case, region_id = self._decide(verdict.name, kind, region_ids, shadows)
            if case is None:
                unknown.append(verdict.name)
                if self.unknown_verdict is UnknownVerdict.FORBID:
                    reason = reason or Reason(UNKNOWN, verdict=verdict)
                continue
            tags_now = (tags_now - set(case.removed_tags)) | set(case.added_tags)
            if not case.is_allowed and (reason is None or reason.rule == UNKNOWN):
                reason = Reason(verdict.name, region_id, verdict, case.message, case.suggestion)
        found = tuple(unknown), tuple(shadows)
        if reason is not None:
            return Judgement(Status.DISAPPROVED, reason.rule, tuple(sorted(tags)), reason, *found)
        rule = ALL_ALLOWED if verdicts else NO_VERDICTS
        return Judgement(Status.APPROVED, rule, tuple(sorted(tags_now)), None, *found)

    def reason_of(self, rule: str, verdicts: Sequence[Verdict]) -> Reason:
        """Return the reason of a decision by a rule, in the current words of the rule."""
        verdict = next((verdict for verdict in verdicts if verdict.name == rule), next(iter(verdicts), None))
        case = next((case for case in self.cases.get(rule, ()) if not case.is_allowed), None)
        if case is None:
            return Reason(rule, verdict=verdict)
        return Reason(rule, verdict=verdict, message=case.message, suggestion=case.suggestion)

    def _decide(self, name: str, kind: Kind, region_ids: Sequence[int], shadows: list[str]) -> tuple[Case | None, int]:
        for case in self.cases.get(name, ()):
            region_id = case.region_of(kind, region_ids)
            if region_id is None:
                continue
            if not case.is_shadow:
                return case, region_id
            if not case.is_allowed:
                shadows.append(name)
        return None, 0


def _case(found: Mapping[str, Any]) -> Case:
    tags = found.get("tags", {})
    return Case(
        is_allowed=found["allowed"],
        kinds=frozenset(Kind(kind.upper()) for kind in found.get("kinds", ())),
        region_ids=frozenset(found.get("regions", ())),
        added_tags=tuple(tags.get("add", ())),
        removed_tags=tuple(tags.get("remove", ())),
        is_shadow=found.get("shadow", False),
        message=found.get("message", ""),
        suggestion=found.get("suggestion", ""),
    )
