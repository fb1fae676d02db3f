"""Effect of a record on its offer: the guard, pictures and texts of a change, one step after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.feeds.v1.load_pb2 import LOAD_MODE_PATCH
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord
from classifeed.moderation.v1.offer_texts_pb2 import OfferText
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.decide import Decision, RecordOutcome, decide
from classifeed_offers.domain.moderation import Moderation, text_to_judge
from classifeed_offers.domain.offers import OfferState, Place, Run
from classifeed_offers.domain.pictures import PicturePlan, plan_pictures
from classifeed_offers.domain.shifts import Shift, is_guarded, shift_between

_NO_SHIFT: Final = Shift(None, becomes_unavailable=False)
_NO_PICTURES: Final = PicturePlan()


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for the records of a poll.

    Attributes:
        moderation: decides the status of an offer by its text.
        guard: decides which changes wait.
        content_version: version of the texts that are requested now.
        requests_pictures: whether pictures are requested.
        now: time of the request.
    """

    moderation: Moderation
    guard: Guard
    content_version: int
    requests_pictures: bool
    now: Timestamp


class WaitingChange(NamedTuple):
    """A change that was set aside: the offer's hash before, its state after, and the effect of the change.

    `changes_pictures` is true if the links of pictures change.
    """

    run: Run
    before_hash: bytes
    state: OfferState
    shift: Shift
    changes_pictures: bool = False


class Effect(NamedTuple):
    """Effect of a record on its offer.

    Attributes:
        decision: outcome and finding of the record.
        picture_faults: PictureRecords of failed pictures to report; None: there are none.
        written: new state of the offer; None: nothing is written.
        waiting: change that waits for the end of the run; None: there is none.
        text: text to be judged; None: no verdict is requested.
        pictures: links of pictures to request.
        changes_price: whether the record changes a price now.
    """

    decision: Decision
    picture_faults: bytes | None = None
    written: OfferState | None = None
    waiting: WaitingChange | None = None
    text: OfferText | None = None
    pictures: Sequence[str] = ()
    changes_price: bool = False


class _Change(NamedTuple):
    """A change that a record makes: the whole new content, the new state, and what differs from before."""

    content: OfferContent
    after: OfferState
    shift: Shift
    pictures: PicturePlan


def effect_of(
    batch: OfferBatch, record: OfferRecord, before: OfferState | None, rules: Rules, *, has_available: bool
) -> Effect:
    """Return the effect of a record of `batch`.

    Args:
        batch: batch with the record.
        record: the record.
        before: current offer, with what the rules need of it; None: the namespace never had it.
        rules: rules of the poll.
        has_available: whether the run has had an available offer.
    """
    decision = decide(record, before, task_id=batch.task_id, mode=batch.mode, moderation=rules.moderation)
    known_faults = before.picture_faults if before is not None else None
    if decision.state is None:
        return Effect(decision, known_faults)
    change = _change_of(batch, record, before, decision.state, rules)
    if before is not None and rules.guard.sets_aside(change.shift, has_available=has_available):
        run = Run(batch.task_id, batch.run)
        waiting = WaitingChange(run, before.content_hash, change.after, change.shift, change.pictures.is_changed)
        # SKIPPED until the end of the run reports that the change was made.
        return Effect(decision._replace(outcome=RecordOutcome.SKIPPED), known_faults, waiting=waiting)
    return _written(record.external_id, decision, change, rules)


def _change_of(
    batch: OfferBatch, record: OfferRecord, before: OfferState | None, after: OfferState, rules: Rules
) -> _Change:
    is_patch = batch.mode == LOAD_MODE_PATCH
    content = OfferContent.FromString(after.content or b"") if is_patch else record.content
    shift = _NO_SHIFT if is_patch else _shift_of(content, before, after)
    place = Place(batch.task_id, record.ordinal, record.line)
    return _Change(content, after, shift, _plan_pictures(content, before, place, rules))


def _shift_of(content: OfferContent, before: OfferState | None, after: OfferState) -> Shift:
    if before is None or before.content is None or not (is_guarded(before) and is_guarded(after)):
        return _NO_SHIFT
    return shift_between(before.content, content)


def _plan_pictures(content: OfferContent, before: OfferState | None, place: Place, rules: Rules) -> PicturePlan:
    if not rules.requests_pictures:
        return _NO_PICTURES
    # The records of an offer that is back may be out of date: pictures that no offer used may have been deleted.
    pictures = before.pictures if before is not None and before.exists else None
    return plan_pictures(content.picture_urls, pictures, place=place, now=rules.now)


def _written(external_id: str, decision: Decision, change: _Change, rules: Rules) -> Effect:
    plan = change.pictures
    written = change.after._replace(pictures=plan.pictures, picture_faults=plan.faults, awaits_pictures=plan.is_awaited)
    text: OfferText | None = None
    if written.is_requested:
        assert written.text_hash is not None
        text = text_to_judge(external_id, change.content, written.text_hash, rules.content_version)
    return Effect(
        decision,
        plan.faults,
        written=written,
        text=text,
        pictures=plan.requested,
        changes_price=change.shift.price_ratio is not None,
    )
