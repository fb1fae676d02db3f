"""Consumers of offers, and the loops that repeat requests whose results do not come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from classifeed_common.db import Database, Tx
from classifeed_common.kafka import DeadLetters, KafkaProducer, LogLost, NotifyingPositions, OrderedConsumer
from classifeed_common.outbox import Outbox
from classifeed_common.publish_mark import MarkPusher
from classifeed_common.runner import Role
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, MODERATION_OUTCOMES, PICTURES_RESULTS
from classifeed_jobs import JobStore
from classifeed_offers.app.loads.apply_requests import Sweeps
from classifeed_offers.app.pictures.request_pictures import PictureRequester
from classifeed_offers.app.texts.check_decisions import DecisionCheck
from classifeed_offers.app.texts.request_texts import TextRequester
from classifeed_offers.consumers import outcomes, pictures, requests
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.moderation import Moderation
from classifeed_offers.jobs.request_pictures import enqueue_again
from classifeed_offers.jobs.return_decisions import return_starter
from classifeed_offers.settings import OffersSettings

# Requests that one transaction applies; a batch has up to 100 offers. Later requests wait for it.
_POLL_REQUESTS: Final = 32
_REQUEST_AGAIN_S: Final = 10.0
# Without a verdict or a result, texts and pictures are requested again after longer than moderation and pictures take.
_TEXT_WAIT_S: Final = 900.0
_PICTURE_WAIT_S: Final = 7200.0
_CHECK_DECISIONS_S: Final = 30.0
# Results of pictures arrive one by one, and each causes a document for the receiver, the indexer and the searcher.
_PICTURES_GATHER_S: Final = 2.0
_PICTURES_GATHER_TIMES: Final = 30.0
_OUTCOMES_GATHER_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Consumers:
    """Builds the consumers. Each effect wakes the relay and the pusher."""

    settings: OffersSettings
    database: Database
    producer: KafkaProducer
    outbox: Outbox
    pusher: MarkPusher
    jobs: JobStore

    def build_loads(self, moderation: Moderation, guard: Guard, sweeps: Sweeps) -> OrderedConsumer[Tx]:
        """Return the consumer of the requests of loads."""
        positions = self._positions()
        handler = requests.RequestHandler(
            outbox=self.outbox,
            moderation=moderation,
            sweeps=sweeps,
            guard=guard,
            requests_pictures=self.settings.pictures,
        )
        return OrderedConsumer(
            bootstrap=self.settings.kafka_bootstrap,
            group=requests.GROUP,
            topics=[FEEDS_OFFER_REQUESTS],
            positions=positions,
            handle=handler.handle,
            refuse=handler.refuse,
            on_log_lost=positions.skip_lost,  # the processor repeats requests that got no reply
            dead_letters=DeadLetters(self.producer),
            refuses_misplaced=True,
            max_records=_POLL_REQUESTS,
        )

    def build_verdicts(self) -> Role:
        """Return the role that applies verdicts, repeats lost requests for them, and finds decisions that were lost."""
        positions = self._positions()
        consumer = OrderedConsumer(
            bootstrap=self.settings.kafka_bootstrap,
            group=outcomes.GROUP,
            topics=[MODERATION_OUTCOMES],
            positions=positions,
            handle=outcomes.OutcomeHandler(self.outbox, start_return=return_starter(self.jobs)).handle,
            on_log_lost=positions.skip_lost,  # waiting texts are requested again
            dead_letters=DeadLetters(self.producer),
            refuses_misplaced=True,
            gather_s=_OUTCOMES_GATHER_S,
        )
        requester = TextRequester(self.database, self.outbox, wait_s=_TEXT_WAIT_S, period_s=_REQUEST_AGAIN_S)
        decisions = DecisionCheck(self.database, self.outbox, period_s=_CHECK_DECISIONS_S)
        return Role.together("consume-verdicts", consumer, requester, decisions, backlog=requester.backlog)

    def build_pictures(self) -> Role:
        """Return the role that records results of pictures, and requests pictures unless they are off."""
        settings = self.settings
        positions = self._positions()

        async def request_again(tx: Tx) -> None:
            await enqueue_again(self.jobs, tx)

        async def skip_lost(lost: LogLost) -> None:
            # The lost results include more than the awaited ones: a stored picture may have changed since.
            await positions.skip_lost(lost, with_effect=request_again if settings.pictures else None)

        consumer = OrderedConsumer(
            bootstrap=settings.kafka_bootstrap,
            group=pictures.GROUP,
            topics=[PICTURES_RESULTS],
            positions=positions,
            handle=pictures.PictureHandler(self.outbox).handle,
            on_log_lost=skip_lost,
            dead_letters=DeadLetters(self.producer),
            gather_s=_PICTURES_GATHER_S,
            gather_times=_PICTURES_GATHER_TIMES,
        )
        requester = PictureRequester(self.database, self.outbox, wait_s=_PICTURE_WAIT_S, period_s=_REQUEST_AGAIN_S)
        parts = (consumer, requester) if settings.pictures else (consumer,)
        return Role.together("consume-pictures", *parts, backlog=requester.backlog)

    def _positions(self) -> NotifyingPositions:
        return NotifyingPositions(self.database, self.outbox.wake, self.pusher.wake)
