"""A load that waits for a decision, for people: what it would remove, why it is held, and the commands that decide."""

from __future__ import annotations

from classifeed.feeds.v1 import load_pb2, offer_requests_pb2, task_pb2
from classifeed_cli.output import Output
from classifeed_cli.wrapping import cut, one_line

_TITLE_CHARS = 60


def show_hold(out: Output, task: task_pb2.Task) -> None:
    """Prints why a task is held and what can be done, or in a line what was decided about it."""
    hold = task.hold
    if not hold.reasons:
        return
    if task.status != task_pb2.TASK_STATUS_HELD:
        out.say(f"  held      {describe_hold(hold)}; {_decided(task)}", hang=12)
        return
    out.say(f"  held      {describe_hold(hold)}. All else was applied; this waits for a decision.", hang=12)
    for offer in hold.sample_offers:
        out.say(f"            {_name(offer)}", hang=14)
    more = hold.removals - len(hold.sample_offers)
    if more > 0:
        out.say(f"            … and {more:,} more")
    if hold.renamed:
        out.say(
            f"  note      {hold.renamed:,} of them are in the file under another id: {one_line(hold.renamed_from)} is "
            f"{one_line(hold.renamed_to)} now. If only the ids have changed, confirm the load, or give the file the "
            "ids that it had.",
            hang=12,
        )
    where = f"{task.seller_id} {task.namespace} {task.task_id}"
    out.say(f"To remove them:\n  classifeed task confirm {where}")
    out.say(f"To keep them:\n  classifeed task reject {where}")
    out.say("Or load a corrected file: it takes the place of this load.")


def describe_hold(hold: load_pb2.LoadHold) -> str:
    """Returns in a few words what a held load would do."""
    of = f"{hold.removals:,} of {hold.offers:,} offers would be removed"
    if load_pb2.HOLD_REASON_NO_OFFERS in hold.reasons:
        return f"{of}: the file has no offer at all"
    return f"{of}, as the file lacks them"


def _decided(task: task_pb2.Task) -> str:
    if task.decision == offer_requests_pb2.HOLD_DECISION_CONFIRM:
        return "confirmed"
    if task.decision == offer_requests_pb2.HOLD_DECISION_REJECT:
        return "rejected"
    return "a newer load took its place" if task.status == task_pb2.TASK_STATUS_SUPERSEDED else "not decided about"


def _name(offer: load_pb2.HeldOffer) -> str:
    title = one_line(offer.title)
    return f"{one_line(offer.external_id)} “{cut(title, _TITLE_CHARS)}”" if title else one_line(offer.external_id)
