"""Path of a text to its decision: the queue in memory, its workers, and the loops that store, claim and close texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from classifeed_common.db import Database
from classifeed_common.runner import Watch
from classifeed_moderation.app.decisions.record_decisions import Deciding
from classifeed_moderation.app.decisions.record_verdicts import RecordVerdicts
from classifeed_moderation.app.judging.close_reviews import ReviewCloser
from classifeed_moderation.app.judging.correct_pending import PendingCorrector
from classifeed_moderation.app.judging.judge_texts import TextJudge
from classifeed_moderation.app.judging.queue_texts import TaskQueue
from classifeed_moderation.app.judging.store_texts import StoreTexts
from classifeed_moderation.app.judging.take_offer_texts import TakeOfferTexts
from classifeed_moderation.clients.breaker import Breaker
from classifeed_moderation.clients.pacer import Pacer
from classifeed_moderation.clients.verdict_service import VerdictService
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.settings import ModerationSettings

CHECK_INTERVAL_S: Final = 10.0  # between polls for due texts, which a commit wakes earlier
TESTING_REQUESTS_S: Final = 50  # texts per second in the environment testing
_OFFERS_PERCENT: Final = 95  # of the workers; the rest is for texts of users
_QUEUE_SIZE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Judging:
    """Parts that a text passes on its way to a decision.

    Attributes:
        queue: texts that wait in memory.
        record_verdicts: records verdicts.
        corrector: queues texts that are due.
        judge: requests verdicts.
        closer: closes reviews whose texts need no verdict.
        store_texts: stores texts of points and comments.
        take_offer_texts: stores texts of offers.
        measured: counts waiting texts.
    """

    queue: TaskQueue
    record_verdicts: RecordVerdicts
    corrector: PendingCorrector
    judge: TextJudge
    closer: ReviewCloser
    store_texts: StoreTexts
    take_offer_texts: TakeOfferTexts
    measured: Watch


def build_judging(
    settings: ModerationSettings,
    database: Database,
    deciding: Deciding,
    verdict_service: VerdictService,
    *,
    on_decided: Callable[[], None],
    breaker: Breaker | None = None,
    queue_size: int = _QUEUE_SIZE,
    check_interval_s: float = CHECK_INTERVAL_S,
) -> Judging:
    """Return the parts; nothing is opened yet. `on_decided` is called after the commit of decisions."""
    offers_limit = max(settings.workers * _OFFERS_PERCENT // 100, 1)
    clock, batch = deciding.clock, settings.verdict_batch
    queue = TaskQueue(queue_size, {Kind.OFFER: offers_limit}, {Kind.OFFER: batch})

    def on_due() -> None:
        corrector.wake()

    record_verdicts = RecordVerdicts(
        database,
        deciding,
        max_pending_duration_s=settings.max_pending_duration_s,
        gathered_items=max(offers_limit // 2, 1),
        on_decided=on_decided,
        on_due=on_due,
    )
    retry_s, kept_s = settings.retry_interval_s, settings.kept_verdicts_s
    corrector = PendingCorrector(
        database,
        queue,
        record_verdicts,
        check_interval_s=check_interval_s,
        retry_interval_s=retry_s,
        kept_verdicts_s=kept_s,
    )
    breaker = breaker or Breaker(clock, most=settings.workers)
    pacer = Pacer(clock, TESTING_REQUESTS_S) if settings.verdict_environment == "testing" else None
    return Judging(
        queue=queue,
        record_verdicts=record_verdicts,
        corrector=corrector,
        judge=TextJudge(queue, verdict_service, record_verdicts, breaker, workers=settings.workers, pacer=pacer),
        closer=ReviewCloser(
            database, verdict_service, clock, check_interval_s=check_interval_s, batch=batch, pacer=pacer
        ),
        store_texts=StoreTexts(queue, deciding, retry_interval_s=retry_s),
        take_offer_texts=TakeOfferTexts(
            queue,
            deciding,
            retry_interval_s=retry_s,
            kept_verdicts_s=kept_s,
            decisions_days=settings.decisions_days,
            on_due=on_due,
        ),
        measured=Watch(corrector.measure, what="counts of texts", period_s=check_interval_s),
    )
