"""Metrics of moderation."""

from __future__ import annotations

from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()
OTHER_VERDICT: Final = "other"
_KINDS: Final = ("point", "comment", "offer")

WAITING: Final = METRICS.gauge(
    "classifeed_moderation_waiting_texts",
    "Texts that wait for their verdict, by kind of text.",
    unit="texts",
    labels={"kind": _KINDS},
)
OLDEST: Final = METRICS.gauge(
    "classifeed_moderation_oldest_waiting_seconds",
    "Age of the oldest text that waits for its verdict, by kind of text.",
    unit="seconds",
    labels={"kind": _KINDS},
)
DECISIONS: Final = METRICS.counter(
    "classifeed_moderation_decisions_total",
    "Decisions that were applied, by kind of text and by status.",
    unit="decisions",
    labels={"kind": _KINDS, "status": ("approved", "disapproved")},
)
SHOWN: Final = METRICS.counter(
    "classifeed_moderation_shown_points_total",
    "Points that were approved, by their authors: users, or partners, moderators and experts.",
    unit="points",
    labels={"author": ("user", "partner", "moderator", "expert")},
)
PUSHED: Final = METRICS.counter(
    "classifeed_moderation_pushed_documents_total",
    "Documents of points that were pushed, by the receiver's outcome.",
    unit="documents",
    labels={"outcome": ("ack", "stale", "invalid", "epoch_too_old", "retry")},
)
REPUBLICATIONS: Final = METRICS.counter(
    "classifeed_moderation_republications_total",
    "Republications of all points, by the service that had lost data.",
    unit="republications",
    labels={"loss": ("receiver", "own")},
)
REQUESTS: Final = METRICS.counter(
    "classifeed_moderation_requests_total",
    "Requests to the verdict service, by outcome: immediate verdicts, review by people, unreachable, any other fault.",
    unit="requests",
    labels={"outcome": ("verdicts", "people", "unreachable", "fault")},
)
SAVED: Final = METRICS.counter(
    "classifeed_moderation_saved_requests_total",
    "Texts that got the verdicts of an equal text, without a request.",
    unit="texts",
)
QUEUED: Final = METRICS.gauge(
    "classifeed_moderation_queued_texts",
    "Texts in the queue in memory of this process, by kind of text.",
    unit="texts",
    labels={"kind": _KINDS},
)
DROPPED: Final = METRICS.counter(
    "classifeed_moderation_dropped_texts_total",
    "Texts of points and comments that found the queue in memory full; they are handled once due. Texts of offers are"
    " taken only while there is room.",
    unit="texts",
    labels={"kind": _KINDS},
)
WAITED: Final = METRICS.histogram(
    "classifeed_moderation_wait_seconds",
    "Time from storing a text to its first decision.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600, 3600, 86400),
    labels={"kind": _KINDS},
)
VERDICTS: Final = METRICS.counter(
    "classifeed_moderation_verdicts_total",
    "Verdicts that were applied, by name; `other`: verdicts without a rule.",
    unit="verdicts",
    labels={"verdict": "name in the rules file, or other"},
)
UNKNOWN_VERDICTS: Final = METRICS.counter(
    "classifeed_moderation_unknown_verdicts_total",
    "Verdicts without a rule.",
    unit="verdicts",
)
ABNORMAL: Final = METRICS.counter(
    "classifeed_moderation_abnormal_responses_total",
    "Verdicts that came without the end verdict.",
    unit="responses",
)
IGNORED: Final = METRICS.counter(
    "classifeed_moderation_ignored_verdicts_total",
    "Verdicts about something other than the text.",
    unit="verdicts",
)
SHADOWED: Final = METRICS.counter(
    "classifeed_moderation_shadow_decisions_total",
    "Texts that a rule in shadow mode would have refused.",
    unit="texts",
    labels={"kind": _KINDS},
)
BREAKER: Final = METRICS.gauge(
    "classifeed_moderation_breaker_open",
    "1 while requests to the verdict service are held back because it failed several times in a row.",
    unit="state",
)
