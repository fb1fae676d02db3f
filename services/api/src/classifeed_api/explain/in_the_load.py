"""The stages within a load: the check of its file, the offer in the file, the batch."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.feeds.v1 import explanation_pb2 as stages
from classifeed.feeds.v1.explanation_pb2 import ExplanationStage, ExplanationStep
from classifeed.feeds.v1.task_pb2 import TASK_STATUS_FAILED, Task
from classifeed.offers.v1.offer_pb2 import OFFER_ORIGIN_MANUAL
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain import sentences
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
# A page that came instead of a feed has no line to correct.
_PAGE = "NOT_A_FEED"


def describe_file(facts: Facts) -> ExplanationStep:
    """Describe the result of the check of the whole file."""
    look = facts.look
    if look is None:
        return without_load(_FILE, facts)
    task = look.task
    if look.is_delete:
        return step(_FILE, SKIPPED, sentences.NO_FILE)
    if task.status == TASK_STATUS_FAILED and task.error_code not in LATE_FAULTS:
        return step(
            _FILE,
            STOPPED,
            sentences.FILE_FAILED.format(load=task.task_id, fault=_words_of(task)),
            time=task.end_time,
            suggestion=_fix_of(task),
            code=task.error_code or "LOAD_FAILED",
            line=task.error_line,
            column=task.error_column,
        )
    if not look.is_checked:
        words = sentences.FILE_BEING_CHECKED if task.run else sentences.FILE_WAITS
        return step(_FILE, WAITING, sentences.FILE_AWAITED.format(load=task.task_id, words=words))
    offers = f"{task.expected_total:,} offers" if task.expected_total else "its offers"
    text = sentences.FILE_CHECKED.format(format=task.format or "a known format", offers=offers)
    if task.warnings:
        return step(_FILE, WARNING, " ".join([text, *task.warnings]), time=_checked_at(look))
    return step(_FILE, DONE, text, time=_checked_at(look))


def describe_offer(facts: Facts) -> ExplanationStep:
    """Describe where the offer is in the file."""
    look = facts.look
    if look is None:
        return without_load(_OFFER, facts)
    number = look.task.task_id
    if look.has_offer:
        state = DONE if look.is_checked else WAITING
        if look.places:
            first = look.places[0]
            text = sentences.OFFER_AT_PLACE.format(ordinal=first.ordinal, line=first.line)
            return step(
                _OFFER, state, text, time=sent_at(look), line=first.line, column=first.column, excerpt=first.excerpt
            )
        text = sentences.OFFER_ON_LINE.format(line=look.line) if look.line else sentences.OFFER_IN_FILE
        return step(_OFFER, state, text, time=sent_at(look), line=look.line)
    if look.has_offer is None and not _removed_by(facts, number):
        return step(_OFFER, UNASKED, sentences.OFFER_UNKNOWN.format(load=number))
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
            sentences.LOAD_FAILED.format(load=task.task_id, fault=_words_of(task)),
            time=task.end_time,
            code=task.error_code or "LOAD_FAILED",
            suggestion=sentences.LOAD_FAILED_FIX,
        )
    if look.has_offer is False:
        return step(_BATCH, SKIPPED, sentences.NOTHING_SENT.format(load=task.task_id))
    if look.location is not UNKNOWN and look.location.batch_id:
        text = sentences.SENT_IN_BATCH.format(batch=look.location.batch_id, load=task.task_id)
        return step(_BATCH, DONE, text, time=sent_at(look))
    if look.is_open and not facts.is_applied:
        if look.location is UNKNOWN:
            return step(_BATCH, UNASKED, sentences.SENT_UNKNOWN)
        return step(_BATCH, WAITING, sentences.NOT_SENT_YET.format(load=task.task_id))
    return step(_BATCH, DONE, sentences.SENT.format(load=task.task_id), time=sent_at(look))


def without_load(stage: ExplanationStage, facts: Facts) -> ExplanationStep:
    """Return the step of a stage if there is no load to describe."""
    if facts.load is UNKNOWN:
        return step(stage, UNASKED, sentences.LOADS_UNKNOWN)
    return step(stage, SKIPPED, sentences.NO_LOAD)


def sent_at(look: Look) -> Timestamp | None:
    """Return when the offer was sent, found and checked; None if that is unknown."""
    return None if look.location is UNKNOWN else look.location.send_time


def _checked_at(look: Look) -> Timestamp | None:
    """Return when the check of the whole file had ended; the time is the same for all of its offers."""
    return None if look.location is UNKNOWN else look.location.check_time


def _words_of(task: Task) -> str:
    """Return the message of a failed load, without the lists below it."""
    return task.error_message.partition("\n")[0]


def _fix_of(task: Task) -> str:
    if task.error_code == _PAGE:
        if task.fetch:
            return sentences.PAGE_OF_LINK_FIX
        return sentences.PAGE_OF_UPLOAD_FIX
    how = sentences.CORRECT_LINE.format(line=task.error_line) if task.error_line else sentences.CORRECT_FILE
    return sentences.FILE_FAILED_FIX.format(how=how)


def _describe_missing(facts: Facts, look: Look) -> ExplanationStep:
    task, external_id = look.task, facts.name.external_id
    lacks = (
        sentences.FEED_ENDED.format(load=task.task_id)
        if look.is_delete
        else sentences.NOT_IN_FILE.format(load=task.task_id, external_id=external_id)
    )
    if facts.is_alive:
        by_hand = facts.kept is not None and facts.kept.origin == OFFER_ORIGIN_MANUAL
        stays = sentences.KEPT_BY_HAND if by_hand else sentences.KEPT_AS_IT_WAS
        return step(_OFFER, WARNING, lacks + stays, code="FEED_ENDED" if look.is_delete else "NOT_IN_FILE")
    had = ""
    if facts.before is not None:
        line = f" on line {facts.before.line}" if facts.before.line else ""
        had = sentences.EARLIER_LOAD_HAD_IT.format(load=facts.before.task.task_id, line=line)
    removed_by_it = _removed_by(facts, task.task_id)
    time, gone = task.end_time, ""
    if removed_by_it and facts.kept is not None:
        time = facts.kept.update_time
        gone = sentences.SO_REMOVED.format(time=when(time))
    if look.is_delete:
        return step(
            _OFFER,
            STOPPED,
            lacks + gone + had,
            time=time,
            code="FEED_ENDED",
            suggestion=sentences.FEED_ENDED_FIX,
        )
    if facts.kept is None and len(facts.lacking) > 1:
        lacks = sentences.NOT_IN_FILES.format(loads=loads_of(facts.lacking), external_id=external_id)
    return step(
        _OFFER,
        STOPPED,
        lacks + gone + had,
        time=time,
        code="NOT_IN_FILE",
        suggestion=sentences.NOT_IN_FILE_FIX if facts.kept is not None else sentences.NEVER_IN_FILE_FIX,
    )


def _removed_by(facts: Facts, number: int) -> bool:
    return facts.is_removed and facts.kept is not None and facts.kept.last_task_id == number
