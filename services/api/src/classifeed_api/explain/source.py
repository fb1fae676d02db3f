"""The first stage: how the file came, or why the link brought none."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1.explanation_pb2 import EXPLANATION_STAGE_SOURCE, ExplanationStep
from classifeed.feeds.v1.feed_pb2 import (
    FETCH_OUTCOME_DROPPED,
    FETCH_OUTCOME_FAILED,
    FETCH_OUTCOME_QUEUED,
    FETCH_OUTCOME_RUNNING,
    FETCH_OUTCOME_UNSPECIFIED,
    Fetch,
    FetchOutcome,
)
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.domain.uploads import Upload
from classifeed_api.explain import sentences
from classifeed_api.explain.facts import Facts, Link, Look
from classifeed_api.explain.in_the_load import without_load
from classifeed_api.explain.steps import (
    DONE,
    SKIPPED,
    STOPPED,
    UNASKED,
    WAITING,
    WARNING,
    is_set,
    stamp,
    step,
    when,
)
from classifeed_common.errors import times
from classifeed_common.fetch import FETCH_FAULTS

_SOURCE: Final = EXPLANATION_STAGE_SOURCE
# Outcomes without a file that are no faults: another fetch follows.
_STILL_TO_COME: Final[dict[FetchOutcome, str]] = {
    FETCH_OUTCOME_UNSPECIFIED: sentences.NOT_FETCHED,
    FETCH_OUTCOME_QUEUED: sentences.FETCH_QUEUED,
    FETCH_OUTCOME_RUNNING: sentences.FETCH_RUNNING,
    FETCH_OUTCOME_DROPPED: sentences.FETCH_DROPPED,
}


def describe_source(facts: Facts) -> ExplanationStep:
    """Describe how the file came."""
    look = facts.look
    if look is None:
        return without_load(_SOURCE, facts) if facts.load is UNKNOWN else _describe_no_load(facts)
    described = _describe_file(facts, look)
    failing = describe_failing(facts)
    if not failing or facts.link is UNKNOWN or facts.link is None:
        return described
    fetch = facts.link.state.last_fetch
    return step(
        _SOURCE,
        WARNING,
        f"{described.text} {failing}",
        time=described.time,
        code=fetch.code,
        suggestion=_fix_of(fetch) if fetch.code else "",
    )


def describe_failing(facts: Facts) -> str:
    """Return the sentence about a link that has failed since the newest load; empty if it has not."""
    if facts.look is None or facts.link is UNKNOWN or facts.link is None or not facts.link.state.failures:
        return ""
    state = facts.link.state
    newest = facts.newer or facts.look.task
    why = f" ({state.last_fetch.code})" if state.last_fetch.code else ""
    return sentences.LINK_FAILING.format(times=times(state.failures), why=why, load=newest.task_id)


def _describe_no_load(facts: Facts) -> ExplanationStep:
    if facts.is_alive:
        return step(_SOURCE, SKIPPED, sentences.NO_LOAD_BUT_OFFER)
    if facts.link is UNKNOWN:
        return step(_SOURCE, UNASKED, sentences.LINK_UNKNOWN)
    described = _describe_link(facts.link) if facts.link is not None else None
    return described or step(
        _SOURCE,
        STOPPED,
        sentences.NO_LOAD,
        code="NO_LOAD",
        suggestion=sentences.NO_LOAD_FIX,
    )


def _describe_link(link: Link) -> ExplanationStep | None:
    """Return why the link has brought no file; None if it has brought one."""
    fetch = link.state.last_fetch
    if fetch.outcome == FETCH_OUTCOME_FAILED:
        fault = FETCH_FAULTS.get(fetch.code)
        words = fetch.message.removesuffix(fault.suggestion).rstrip() if fault is not None else fetch.message
        return step(
            _SOURCE,
            STOPPED,
            " ".join(filter(None, [sentences.FETCH_FAILED.format(code=fetch.code), words, _next_try(link)])),
            time=fetch.end_time,
            code=fetch.code,
            suggestion=_fix_of(fetch),
        )
    if fetch.outcome not in _STILL_TO_COME:
        return None
    is_under_way = fetch.outcome in {FETCH_OUTCOME_QUEUED, FETCH_OUTCOME_RUNNING}
    if link.is_paused and not is_under_way:
        return step(
            _SOURCE,
            STOPPED,
            sentences.FEED_PAUSED,
            code="FEED_PAUSED",
            suggestion=sentences.FEED_PAUSED_FIX,
        )
    failed = sentences.FETCHES_FAILED.format(failures=link.state.failures) if link.state.failures else ""
    later = "" if is_under_way or not is_set(link.state.next_fetch_time) else f" {_next_try(link)}"
    return step(
        _SOURCE,
        WAITING,
        sentences.SOURCE_TO_COME.format(state=_STILL_TO_COME[fetch.outcome], failed=failed, later=later),
        time=fetch.start_time if is_set(fetch.start_time) else fetch.create_time,
    )


def _next_try(link: Link) -> str:
    if link.is_paused:
        return sentences.NO_NEXT_FETCH
    next_time = link.state.next_fetch_time
    return sentences.NEXT_FETCH.format(time=when(next_time)) if is_set(next_time) else ""


def _fix_of(fetch: Fetch) -> str:
    fault = FETCH_FAULTS.get(fetch.code)
    return fault.suggestion if fault is not None else sentences.FETCH_FAILED_FIX


def _describe_file(facts: Facts, look: Look) -> ExplanationStep:
    task = look.task
    if look.is_delete:
        return step(_SOURCE, SKIPPED, sentences.SOURCE_OF_REMOVAL.format(load=task.task_id), time=task.create_time)
    match facts.source:
        case Upload() as upload:
            name = f"“{upload.file_name}”" if upload.file_name else "The file"
            text = sentences.UPLOADED.format(name=name, size=upload.size_bytes, load=task.task_id)
            return step(_SOURCE, DONE, text, time=stamp(upload.created_at))
        case Fetch() as fetch:
            # A site that reports an unchanged file sends none, and the load may begin before the fetch ends.
            time = fetch.download_time if fetch.HasField("download_time") else fetch.start_time
            text = sentences.FETCHED.format(fetch=fetch.fetch_id, size=fetch.bytes, load=task.task_id)
            return step(_SOURCE, DONE, text, time=time)
        case None:
            name = f"“{task.file_name}”" if task.file_name else "The file"
            text = sentences.SOURCE_CAME.format(name=name, size=task.source_bytes, load=task.task_id)
            return step(_SOURCE, DONE, text, time=task.create_time)
    return step(_SOURCE, UNASKED, sentences.SOURCE_UNKNOWN.format(load=task.task_id))
