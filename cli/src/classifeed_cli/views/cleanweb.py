"""Output of reviews and callbacks for people."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed.cleanweb.v1 import cleanweb_service_pb2
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.wrapping import one_line
from classifeed_cli.views.amounts import duration_words, time_words


def show_queues(out: Output, queues: Sequence[cleanweb_service_pb2.Queue]) -> None:
    """Print a line for each project."""
    out.table(
        ("waiting", "oldest", "late", "reviewers", "project"),
        (
            (
                queue.waiting,
                duration_words(queue.oldest_s) if queue.waiting else "",
                queue.late,
                queue.reviewers,
                queue.project,
            )
            for queue in queues
        ),
    )


def show_review(out: Output, review: cleanweb_service_pb2.Review) -> None:
    """Print a text that a reviewer has claimed."""
    out.say(f"review {review.review_id} of {review.project}, yours until {time_words(review.lease_end_time)}")
    out.say("")
    out.say(review.text)
    out.say("")
    out.say(review.instructions)
    out.say(f"verdicts: {', '.join(review.choices)}")


def show_callbacks(out: Output, callbacks: Sequence[cleanweb_service_pb2.Callback]) -> None:
    """Print callbacks that were not delivered, with the error of the last attempt."""
    if not callbacks:
        out.say("no callback waits")
        return
    out.entries(
        ("callback", "since", "state", "for"),
        (
            (
                (
                    each.callback_id,
                    time_words(each.create_time),
                    "given up" if each.HasField("give_up_time") else "to be retried",
                    f"{each.service}/{each.environment}",
                ),
                [each.key, one_line(each.fault)],
            )
            for each in callbacks
        ),
    )
