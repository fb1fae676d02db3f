"""The stages that lie in a load: the check of its file, the offer in the file, the batch."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.feeds.v1 import explanation_pb2 as stages
from classifeed.feeds.v1.explanation_pb2 import ExplanationStage, ExplanationStep
from classifeed.feeds.v1.task_pb2 import TASK_STATUS_FAILED, Task
from classifeed.offers.v1.offer_pb2 import OFFER_ORIGIN_MANUAL
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain.facts import LATE_FAULTS, Facts, Look
from classifeed_api.explain.steps import (
    DONE,
    SKIPPED,
    STOPPED,
    UNASKED,
    WAITING,
    WARNING,
    loads_of,
    step,
    when,
)

_FILE = stages.EXPLANATION_STAGE_FILE
_OFFER = stages.EXPLANATION_STAGE_OFFER
_BATCH = stages.EXPLANATION_STAGE_BATCH
# What came in place of a feed has no line that could be corrected.
_PAGE = "NOT_A_FEED"


def describe_file(facts: Facts) -> ExplanationStep:
    """Describe what the check of the whole file came to."""
    look = facts.look
    if look is None:
        return without_load(_FILE, facts)
    task = look.task
    if look.is_delete:
        return step(_FILE, SKIPPED, "There is no file to be checked.")
    if task.status == TASK_STATUS_FAILED and task.error_code not in LATE_FAULTS:
        return step(
            _FILE,
            STOPPED,
            f"The file of load {task.task_id} cannot be loaded. {_words_of(task)}",
            time=task.end_time,
            suggestion=_fix_of(task),
            code=task.error_code or "LOAD_FAILED",
            line=task.error_line,
            column=task.error_column,
        )
    if not look.is_checked:
        words = "is being checked as a whole" if task.run else "waits for its turn"
        return step(_FILE, WAITING, f"The file of load {task.task_id} {words}.")
    offers = f"{task.expected_total:,} offers" if task.expected_total else "its offers"
    text = f"The file was checked as a whole: {task.format or 'a known format'} with {offers}."
    if task.warnings:
        return step(_FILE, WARNING, " ".join([text, *task.warnings]), time=_checked_at(look))
    return step(_FILE, DONE, text, time=_checked_at(look))


def describe_offer(facts: Facts) -> ExplanationStep:
    """Describe where the offer stands in the file."""
    look = facts.look
    if look is None:
        return without_load(_OFFER, facts)
    number = look.task.task_id
    if look.has_offer:
        state = DONE if look.is_checked else WAITING
        if look.places:
            first = look.places[0]
            text = f"The offer is number {first.ordinal:,} of the file, on line {first.line}."
            return step(
                _OFFER, state, text, time=sent_at(look), line=first.line, column=first.column, excerpt=first.excerpt
            )
        text = f"The offer stands on line {look.line} of the file." if look.line else "The file has the offer."
        return step(_OFFER, state, text, time=sent_at(look), line=look.line)
    if look.has_offer is None and not _removed_by(facts, number):
        return step(_OFFER, UNASKED, f"Where the offer stands in the file of load {number} could not be found out now.")
    return _describe_missing(facts, look)


def describe_batch(facts: Facts) -> ExplanationStep:
    """Describe when the offer was sent to the list of offers."""
    look = facts.look
    if look is None:
        return without_load(_BATCH, facts)
    task = look.task
    if task.status == TASK_STATUS_FAILED:
        return step(
            _BATCH,
            STOPPED,
            f"Load {task.task_id} failed. {_words_of(task)}",
            time=task.end_time,
            code=task.error_code or "LOAD_FAILED",
            suggestion="Load the file again; if it fails again, tell the operator.",
        )
    if look.has_offer is False:
        return step(_BATCH, SKIPPED, f"Load {task.task_id} sent nothing about the offer.")
    if look.location is not UNKNOWN and look.location.batch_id:
        text = f"The offer was sent to the list of offers in batch {look.location.batch_id} of load {task.task_id}."
        return step(_BATCH, DONE, text, time=sent_at(look))
    if look.is_open and not facts.is_applied:
        if look.location is UNKNOWN:
            return step(_BATCH, UNASKED, "Whether the offer was sent already cannot be asked right now.")
        return step(_BATCH, WAITING, f"Load {task.task_id} has not sent the offer to the list of offers yet.")
    return step(_BATCH, DONE, f"Load {task.task_id} sent the offer to the list of offers.", time=sent_at(look))


def without_load(stage: ExplanationStage, facts: Facts) -> ExplanationStep:
    """Return the step of a stage where there is no load to describe."""
    if facts.load is UNKNOWN:
        return step(stage, UNASKED, "The loads of this namespace cannot be asked for right now.")
    return step(stage, SKIPPED, "No load of this namespace is remembered.")


def sent_at(look: Look) -> Timestamp | None:
    """Return when the offer was sent, by when it had been found and checked; None when that is not known."""
    return None if look.location is UNKNOWN else look.location.send_time


def _checked_at(look: Look) -> Timestamp | None:
    """Return by when the whole file had been checked: one moment for all of its offers."""
    return None if look.location is UNKNOWN else look.location.check_time


def _words_of(task: Task) -> str:
    """Return what is said of a failed load, without the lists below it."""
    return task.error_message.partition("\n")[0]


def _fix_of(task: Task) -> str:
    if task.error_code == _PAGE:
        if task.fetch:
            return "Open the link in a browser, put right what the page says, and run the feed again."
        return "Open the file you sent: it is a page or an error text. Export the feed again, and send that."
    how = f"Correct line {task.error_line} of the file" if task.error_line else "Do as is said of the file"
    return f"{how} and load it again: one such fault stops all offers of the file."


def _describe_missing(facts: Facts, look: Look) -> ExplanationStep:
    task, external_id = look.task, facts.name.external_id
    lacks = (
        f"Load {task.task_id} ended the feed."
        if look.is_delete
        else f"The file of load {task.task_id} does not have the id “{external_id}”."
    )
    if facts.is_alive:
        by_hand = facts.kept is not None and facts.kept.origin == OFFER_ORIGIN_MANUAL
        stays = " The offer is kept by hand." if by_hand else " The offer is there as it was."
        return step(_OFFER, WARNING, lacks + stays, code="FEED_ENDED" if look.is_delete else "NOT_IN_FILE")
    had = ""
    if facts.before is not None:
        line = f" on line {facts.before.line}" if facts.before.line else ""
        had = f" Load {facts.before.task.task_id} had it{line}."
    removed_by_it = _removed_by(facts, task.task_id)
    time, gone = task.end_time, ""
    if removed_by_it and facts.kept is not None:
        time = facts.kept.update_time
        gone = f" So the offer was removed, at {when(time)}."
    if look.is_delete:
        return step(
            _OFFER,
            STOPPED,
            lacks + gone + had,
            time=time,
            code="FEED_ENDED",
            suggestion="To sell the offer again, load a file that has it, or make the feed anew.",
        )
    if facts.kept is None and len(facts.lacking) > 1:
        lacks = f"None of the files of {loads_of(facts.lacking)} has the id “{external_id}”."
    return step(
        _OFFER,
        STOPPED,
        lacks + gone + had,
        time=time,
        code="NOT_IN_FILE",
        suggestion="Put the offer back into the file and load it again."
        if facts.kept is not None
        else "Look for the id in your file: capitals and spaces inside count, and another namespace is another feed.",
    )


def _removed_by(facts: Facts, number: int) -> bool:
    return facts.is_removed and facts.kept is not None and facts.kept.last_task_id == number
