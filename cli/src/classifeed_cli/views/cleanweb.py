"""Output of reviews and callbacks for people."""

from __future__ import annotations

from typing import Final

from classifeed.cleanweb.v1.cleanweb_service_pb2 import Callback, Queue, Review
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.table import Table
from classifeed_cli.views.amounts import duration_words, time_words

QUEUES: Final = Table[Queue](
    {
        "waiting": lambda queue: queue.waiting,
        "oldest": lambda queue: duration_words(queue.oldest_s) if queue.waiting else "",
        "late": lambda queue: queue.late,
        "reviewers": lambda queue: queue.reviewers,
        "project": lambda queue: queue.project,
    }
)
CALLBACKS: Final = Table[Callback](
    {
        "callback": lambda each: each.callback_id,
        "since": lambda each: time_words(each.create_time),
        "state": lambda each: "given up" if each.HasField("give_up_time") else "to be retried",
        "for": lambda each: f"{each.service}/{each.environment}",
    },
    empty="no callback waits",
    below=lambda each: [each.key, each.fault],
)
"""Callbacks that were not delivered, with the error of the last attempt."""


def show_review(out: Output, review: Review) -> None:
    """Print a text that a reviewer has claimed."""
    out.say(f"review {review.review_id} of {review.project}, yours until {time_words(review.lease_end_time)}")
    out.say("")
    out.say(review.text)
    out.say("")
    out.say(review.instructions)
    out.say(f"verdicts: {', '.join(review.choices)}")
