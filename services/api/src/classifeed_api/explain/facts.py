"""The facts about an offer when it is explained, including those that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from classifeed.feeds.v1.feed_pb2 import FeedSourceState, Fetch
from classifeed.feeds.v1.load_pb2 import ISSUE_KIND_DUPLICATE, OfferError
from classifeed.feeds.v1.task_pb2 import (
    TASK_KIND_DELETE,
    TASK_PHASE_UNSPECIFIED,
    TASK_STATUS_FAILED,
    TASK_STATUS_IN_PROGRESS,
    Task,
)
from classifeed.feeds.v1.task_service_pb2 import OfferLocation, OfferPlace
from classifeed.offers.v1.offer_pb2 import OFFER_STATUS_REMOVED, Offer
from classifeed.search.v1.search_service_pb2 import Hit
from classifeed_api.domain.unknown import UNKNOWN, Unknown
from classifeed_api.domain.uploads import Upload
from classifeed_domain.offer_names import OfferName

Source: TypeAlias = Upload | Fetch | Unknown | None

# Faults of a task that occur after its file was read to the end.
LATE_FAULTS: Final = frozenset({"RUNS_EXHAUSTED"})


@dataclass(frozen=True, slots=True)
class Look:
    """The processor's knowledge of the offer in the file of one load."""

    task: Task
    location: OfferLocation | Unknown
    issues: Sequence[OfferError] | Unknown

    @property
    def places(self) -> Sequence[OfferPlace]:
        """The places of the offer in the file, if they are known."""
        return [] if self.location is UNKNOWN else self.location.places

    @property
    def has_offer(self) -> bool | None:
        """Whether the file has the offer; None if that is unknown."""
        if self.is_delete:
            return False
        if self.places or (self.issues is not UNKNOWN and self.issues):
            return True
        return None if self.location is UNKNOWN else False

    @property
    def line(self) -> int:
        """The line of the offer that is read; 0 if it is unknown."""
        if self.places:
            return self.places[0].line
        if self.issues is UNKNOWN:
            return 0
        return min((issue.line for issue in self.issues if issue.line and not is_duplicate(issue)), default=0)

    @property
    def duplicate_lines(self) -> list[int]:
        """Lines of further offers with the same id, from the places or the issues, whichever has more."""
        by_place = [place.line for place in self.places[1:]]
        issues = () if self.issues is UNKNOWN else self.issues
        by_issue = sorted(issue.line for issue in issues if is_duplicate(issue) and issue.line)
        return max(by_place, by_issue, key=len)

    @property
    def unlisted_issues(self) -> int:
        """Number of issues of the load that are counted but not listed, so that the offer's may be among them."""
        return sum(count.unlisted for count in self.task.statistics.issues)

    @property
    def is_delete(self) -> bool:
        """Whether the task removes a feed and has no file."""
        return self.task.kind == TASK_KIND_DELETE

    @property
    def is_open(self) -> bool:
        """Whether the load is still in progress."""
        return self.task.status == TASK_STATUS_IN_PROGRESS

    @property
    def is_checked(self) -> bool:
        """Whether the file was read to its end and can be loaded."""
        if self.task.status == TASK_STATUS_FAILED:
            return self.task.error_code in LATE_FAULTS
        return not self.is_open or (self.task.phase != TASK_PHASE_UNSPECIFIED and bool(self.task.format))

    @property
    def has_reply(self) -> bool:
        """Whether the reply of the offers service about the offer has been processed."""
        return not self.is_open or (self.location is not UNKNOWN and self.location.HasField("answer_time"))


@dataclass(frozen=True, slots=True)
class Link:
    """The feed by link of the namespace and its state; an empty state if the loader does not know it."""

    state: FeedSourceState
    is_paused: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """All input of an explanation.

    Attributes:
        name: name of the offer.
        load: load that is explained; None if the namespace has no stored load.
        newer: newest load, if an older one is explained because the newest does not have the offer.
        before: for a removed offer, the last load before `load` that had it, if it was found.
        lacking: numbers of the loads whose files were read and do not have the offer, newest first.
        source: upload or fetch that brought the file of `load`; None if it is not stored.
        link: feed by link; None if the namespace has none.
        offer: offer as the offers service keeps it; None if there is none.
        document: offer as the search has it; None if there is none.
        requested_at: time when the facts were read.
    """

    name: OfferName
    load: Look | Unknown | None
    newer: Task | None
    before: Look | None
    lacking: Sequence[int]
    source: Source
    link: Link | Unknown | None
    offer: Offer | Unknown | None
    document: Hit | Unknown | None
    requested_at: datetime

    @property
    def look(self) -> Look | None:
        """The load that is explained, if there is one."""
        return None if self.load is UNKNOWN else self.load

    @property
    def kept(self) -> Offer | None:
        """The offer, removed or not, if the offers service has it."""
        return None if self.offer is UNKNOWN else self.offer

    @property
    def found(self) -> Hit | None:
        """The document, if the search has it."""
        return None if self.document is UNKNOWN else self.document

    @property
    def is_removed(self) -> bool:
        """Whether the offers service has the offer as a removed one."""
        return self.kept is not None and self.kept.status == OFFER_STATUS_REMOVED

    @property
    def is_alive(self) -> bool:
        """Whether the offer exists and is not removed. If the offers service did not respond: whether the search finds
        it.
        """
        if self.offer is UNKNOWN:
            return self.found is not None
        return self.offer is not None and not self.is_removed

    @property
    def is_applied(self) -> bool:
        """Whether the offers service has applied the explained load to the offer."""
        if self.look is None or self.kept is None:
            return False
        return self.kept.last_task_id == self.look.task.task_id or self.look.has_reply


def is_duplicate(issue: OfferError) -> bool:
    """Whether an issue concerns a later offer with the same id, not the offer itself."""
    return issue.kind == ISSUE_KIND_DUPLICATE
