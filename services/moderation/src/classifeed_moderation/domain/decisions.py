"""Decisions: the effect of verdicts on a text, given its state. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from classifeed_moderation.domain.rules import Judgement, RuleSet
from classifeed_moderation.domain.subjects import Kind, SentKey, Status
from classifeed_moderation.domain.verdicts import Verdict, VerdictList


class Maker(StrEnum):
    """Maker of a decision."""

    RULE = "RULE"
    EXEMPTION = "EXEMPTION"
    REVIEWER = "REVIEWER"


class NotApplied(StrEnum):
    """Reason why verdicts were recorded but not applied."""

    TEXT_CHANGED = "TEXT_CHANGED"
    KEY_WITHOUT_VERSION = "KEY_WITHOUT_VERSION"
    INCOMPLETE = "INCOMPLETE"
    ALREADY_DISAPPROVED = "ALREADY_DISAPPROVED"
    REVIEWED = "REVIEWED"


@dataclass(frozen=True, slots=True)
class Subject:
    """A stored text.

    Attributes:
        tags: tags of the point; empty for other kinds.
        author_role: role of the point's author; empty for other kinds.
        next_retry: time of the next request of a waiting text.
        title_chars: number of characters of an offer's text that are its title.
        address: seller, namespace and external id of an offer; None for other kinds.
    """

    key: str
    kind: Kind
    text: str
    title_chars: int
    text_hash: bytes
    cache_key: bytes
    content_version: int
    region_ids: tuple[int, ...]
    status: Status
    started: datetime
    next_retry: datetime | None
    verdicts: tuple[Verdict, ...]
    decision_id: int | None
    decided_by: Maker | None
    tags: tuple[str, ...] = ()
    author_role: str = ""
    address: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Record of a decision about a text, and the change of the text if the decision is applied.

    Attributes:
        verdicts: evidence of the decision.
        is_automatic: whether no person has judged the text.
        not_applied: reason why the decision changes nothing; None: it is applied.
        is_recheck: whether the text is requested again from the verdict service.
    """

    subject: Subject
    judgement: Judgement
    verdicts: tuple[Verdict, ...]
    is_automatic: bool
    not_applied: NotApplied | None = None
    is_recheck: bool = False

    @property
    def is_applied(self) -> bool:
        """Whether the decision changes the text's state."""
        return self.not_applied is None

    @property
    def is_first(self) -> bool:
        """Whether this is the first decision about the text."""
        return self.subject.decided_by is None


def decide(subject: Subject, sent: SentKey, verdict_list: VerdictList, rules: RuleSet) -> Decision | None:
    """Return the decision for verdicts, or None if they are repeated or empty and change nothing."""
    if verdict_list.is_empty:
        return None
    judgement = rules.judge(verdict_list.verdicts, kind=subject.kind, region_ids=subject.region_ids, tags=subject.tags)
    forbids = judgement.status is Status.DISAPPROVED
    reason = _reason_not_to_apply(subject, sent, verdict_list, forbids=forbids)
    decision = Decision(
        subject, judgement, verdict_list.verdicts, is_automatic=not verdict_list.is_from_people, not_applied=reason
    )
    if reason is NotApplied.KEY_WITHOUT_VERSION:
        return replace(decision, is_recheck=forbids)
    if reason is None and _is_repeated(subject, verdict_list.verdicts, judgement):
        return None
    return decision


def _reason_not_to_apply(
    subject: Subject, sent: SentKey, verdict_list: VerdictList, *, forbids: bool
) -> NotApplied | None:
    if sent.is_editable and sent.text_hash is None:
        return NotApplied.KEY_WITHOUT_VERSION
    if sent.text_hash is not None and sent.text_hash != subject.text_hash:
        return NotApplied.TEXT_CHANGED
    if not verdict_list.has_end and not forbids:
        return NotApplied.INCOMPLETE
    if subject.decided_by is Maker.REVIEWER and subject.status is not Status.PENDING:
        return NotApplied.REVIEWED
    if subject.status is Status.DISAPPROVED and not _is_same(subject.verdicts, verdict_list.verdicts):
        return NotApplied.ALREADY_DISAPPROVED
    return None


def _is_repeated(subject: Subject, verdicts: Sequence[Verdict], judgement: Judgement) -> bool:
    if subject.status is Status.PENDING or not _is_same(subject.verdicts, verdicts):
        return False
    return subject.status is Status.DISAPPROVED or judgement.status is Status.APPROVED


def _is_same(stored: Sequence[Verdict], verdicts: Sequence[Verdict]) -> bool:
    return [verdict.name for verdict in stored] == [verdict.name for verdict in verdicts]
