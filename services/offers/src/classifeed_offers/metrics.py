"""Metrics of offers."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

PUSHED: Final = METRICS.counter(
    "classifeed_offers_pushed_documents_total",
    "Documents that were pushed, by the receiver's outcome.",
    unit="documents",
    labels={"outcome": ("ack", "stale", "invalid", "epoch_too_old", "retry")},
)
RAISED: Final = METRICS.counter(
    "classifeed_offers_raised_versions_total",
    "Offers whose version was raised above that of the receiver: the table of offers was restored from a backup.",
    unit="offers",
)
REFUSED: Final = METRICS.gauge(
    "classifeed_offers_refused_documents",
    "Offers whose newest version is not in the search because the receiver refuses their documents as invalid.",
    unit="offers",
)
REPUBLICATIONS: Final = METRICS.counter(
    "classifeed_offers_republications_total",
    "Republications of all offers or of one seller's offers, by cause.",
    unit="publications",
    labels={"cause": ("receiver went back", "offers went back", "operator")},
)
TEXTS_WAITING: Final = METRICS.gauge(
    "classifeed_offers_waiting_texts",
    "Offers whose text waits for its verdict.",
    unit="offers",
)
PICTURES_WAITING: Final = METRICS.gauge(
    "classifeed_offers_waiting_pictures",
    "Offers that wait for a result about a picture.",
    unit="offers",
)
PICTURES_REQUESTED_AGAIN: Final = METRICS.counter(
    "classifeed_offers_pictures_requested_again_total",
    "Pictures of offers that were requested again because no result had arrived.",
    unit="pictures",
)
TEXTS_REQUESTED_AGAIN: Final = METRICS.counter(
    "classifeed_offers_texts_requested_again_total",
    "Texts whose verdict was requested again because it was missing.",
    unit="texts",
)
DECISIONS_RETURNED: Final = METRICS.counter(
    "classifeed_offers_decisions_returned_total",
    "Decisions about texts that were sent to moderation after its restore had lost them.",
    unit="decisions",
)
