"""Metrics of the verdict service."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

OTHER_SERVICE: Final = "other"
REQUESTED: Final = METRICS.counter(
    "classifeed_cleanweb_requested_texts_total",
    "Texts to judge, by the service that sent them; `other`: services without a receiver of callbacks.",
    unit="texts",
    labels={"service": "service of the receivers in the settings, or other"},
)
JUDGED: Final = METRICS.counter(
    "classifeed_cleanweb_judged_texts_total",
    "Requests by outcome: found by a rule, kept from an earlier review, passed, a review opened or joined, "
    "checked without a review.",
    unit="texts",
    labels={"by": ("automatic", "kept", "passed", "opened", "joined", "checked")},
)
REVIEWED: Final = METRICS.counter(
    "classifeed_cleanweb_reviews_total",
    "Completed reviews, by project.",
    unit="reviews",
    labels={"project": "name of the project"},
)
OPINIONS: Final = METRICS.counter(
    "classifeed_cleanweb_opinions_total",
    "Opinions submitted by reviewers, by project.",
    unit="opinions",
    labels={"project": "name of the project"},
)
COST: Final = METRICS.counter(
    "classifeed_cleanweb_opinions_cost_total",
    "Cost of these opinions by CLASSIFEED_CLEANWEB_OPINION_COST, by project.",
    unit="currency of the accounts",
    labels={"project": "name of the project"},
)
WAITING: Final = METRICS.gauge(
    "classifeed_cleanweb_waiting_reviews",
    "Reviews that wait for opinions, by project.",
    unit="reviews",
    labels={"project": "name of the project"},
)
OLDEST: Final = METRICS.gauge(
    "classifeed_cleanweb_oldest_review_seconds",
    "Age of the oldest waiting review, by project.",
    unit="seconds",
    labels={"project": "name of the project"},
)
LATE: Final = METRICS.gauge(
    "classifeed_cleanweb_late_reviews",
    "Reviews that have waited longer than CLASSIFEED_CLEANWEB_REVIEW_DEADLINE_S, by project.",
    unit="reviews",
    labels={"project": "name of the project"},
)
REVIEWERS: Final = METRICS.gauge(
    "classifeed_cleanweb_active_reviewers",
    "Reviewers who hold a text now, by project.",
    unit="reviewers",
    labels={"project": "name of the project"},
)
CALLBACKS: Final = METRICS.counter(
    "classifeed_cleanweb_callbacks_total",
    "Attempts to deliver a callback, by outcome.",
    unit="tries",
    labels={"outcome": ("delivered", "failed", "given_up")},
)
CALLBACKS_WAITING: Final = METRICS.gauge(
    "classifeed_cleanweb_waiting_callbacks",
    "Callbacks that were not delivered, given-up ones included.",
    unit="callbacks",
)
CALLBACKS_GIVEN_UP: Final = METRICS.gauge(
    "classifeed_cleanweb_given_up_callbacks", "Callbacks that were given up.", unit="callbacks"
)
OLDEST_CALLBACK: Final = METRICS.gauge(
    "classifeed_cleanweb_oldest_callback_seconds", "Age of the oldest callback that was not delivered.", unit="seconds"
)
