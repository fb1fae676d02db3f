"""Output of held loads for people: their effects, the reasons of the hold, and the commands that decide."""

from __future__ import annotations

from classifeed.feeds.v1 import load_pb2, offer_requests_pb2, task_pb2
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.wrapping import cut, one_line
from classifeed_cli.views.amounts import price_words

_TITLE_CHARS = 60


def show_hold(out: Output, task: task_pb2.Task) -> None:
    """Print why a task is held and how to decide, or the decision in one line."""
    hold = task.hold
    if not hold.reasons:
        return
    if task.status != task_pb2.TASK_STATUS_HELD:
        out.say(f"  held      {describe_hold(hold)}; {_decided(task)}", hang=12)
        return
    out.say(f"  held      {describe_hold(hold)}. Everything else is applied; this waits for a decision.", hang=12)
    _show_prices(out, hold)
    for offer in hold.sample_offers:
        out.say(f"            {_name(offer.external_id, offer.title)}", hang=14)
    _show_more(out, hold.removals - len(hold.sample_offers))
    if hold.renamed:
        out.say(
            f"  note      {hold.renamed:,} of them are in the file under another id: {one_line(hold.renamed_from)} is "
            f"{one_line(hold.renamed_to)} now. If only the ids have changed, confirm the load, or give the file the "
            "ids that it had.",
            hang=12,
        )
    where = f"{task.seller_id} {task.namespace} {task.task_id}"
    confirm, reject = _choices(hold)
    out.say(f"{confirm}:\n  classifeed task confirm {where}")
    out.say(f"{reject}:\n  classifeed task reject {where}")
    out.say("Or load a corrected file: it replaces this load.")


def describe_hold(hold: load_pb2.LoadHold) -> str:
    """Return the effects of a held load in a few words."""
    parts = []
    if load_pb2.HOLD_REASON_PRICES in hold.reasons:
        median = f"the median one {_move(hold.price_ratio)}"
        parts.append(
            f"{hold.moved_prices:,} of {hold.changed_prices:,} changed prices would change by a large factor, {median}"
        )
    if load_pb2.HOLD_REASON_UNAVAILABLE in hold.reasons:
        parts.append(f"no offer would be available any more; {hold.turned_unavailable:,} are available now")
    if hold.removals:
        of = f"{hold.removals:,} of {hold.offers:,} offers would be removed"
        is_empty = load_pb2.HOLD_REASON_NO_OFFERS in hold.reasons
        parts.append(f"{of}: the file has no offers" if is_empty else f"{of}, as the file lacks them")
    if hold.changes and not _changes_are_a_reason(hold):
        parts.append(f"{hold.changes:,} prices with a large change wait too")
    return "; ".join(parts)


def _show_prices(out: Output, hold: load_pb2.LoadHold) -> None:
    if load_pb2.HOLD_REASON_PRICES not in hold.reasons:
        return
    for price in hold.sample_prices:
        new = price_words(price.new_price) if price.HasField("new_price") else "no price"
        name = _name(price.external_id, price.title)
        out.say(f"            {name}: {price_words(price.price)} → {new}", hang=14)
    _show_more(out, hold.moved_prices - len(hold.sample_prices))


def _show_more(out: Output, more: int) -> None:
    if more > 0:
        out.say(f"            … and {more:,} more")


def _choices(hold: load_pb2.LoadHold) -> tuple[str, str]:
    if not hold.changes:
        return "To remove them", "To keep them"
    if not hold.removals:
        return "To change them", "To leave them as they are"
    return "To change and remove them", "To leave and keep them"


def _changes_are_a_reason(hold: load_pb2.LoadHold) -> bool:
    return bool({load_pb2.HOLD_REASON_PRICES, load_pb2.HOLD_REASON_UNAVAILABLE} & set(hold.reasons))


def _move(ratio: float) -> str:
    if not ratio:
        return "to nothing"
    return f"to {_times(ratio)} times what it was" if ratio > 1 else f"to 1/{_times(1 / ratio)} of what it was"


def _times(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _decided(task: task_pb2.Task) -> str:
    if task.decision == offer_requests_pb2.HOLD_DECISION_CONFIRM:
        return "confirmed"
    if task.decision == offer_requests_pb2.HOLD_DECISION_REJECT:
        return "rejected"
    return "a newer load replaced it" if task.status == task_pb2.TASK_STATUS_SUPERSEDED else "not decided"


def _name(external_id: str, title: str) -> str:
    shown = one_line(title)
    return f"{one_line(external_id)} “{cut(shown, _TITLE_CHARS)}”" if shown else one_line(external_id)
