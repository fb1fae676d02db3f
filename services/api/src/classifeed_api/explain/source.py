"""The first stage: how the file came, or why its link brings none."""

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
from classifeed_common.fetch import FETCH_FAULTS

_SOURCE: Final = EXPLANATION_STAGE_SOURCE
_THEN: Final = "Whether the file has the offer is known once it came."
# Outcomes that brought no file and are no fault: another fetch follows.
_STILL_TO_COME: Final[dict[FetchOutcome, str]] = {
    FETCH_OUTCOME_UNSPECIFIED: "has not been fetched yet",
    FETCH_OUTCOME_QUEUED: "waits to be fetched",
    FETCH_OUTCOME_RUNNING: "is being fetched",
    FETCH_OUTCOME_DROPPED: "has not been fetched since the feed changed",
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
    """Return what is to be said of a link that has failed since the newest load; empty where it has not."""
    if facts.look is None or facts.link is UNKNOWN or facts.link is None or not facts.link.state.failures:
        return ""
    state = facts.link.state
    newest = facts.newer or facts.look.task
    times = "once" if state.failures == 1 else f"{state.failures:,} times"
    why = f" ({state.last_fetch.code})" if state.last_fetch.code else ""
    return f"The link has failed {times} since{why}; the offers are those of load {newest.task_id}."


def _describe_no_load(facts: Facts) -> ExplanationStep:
    if facts.is_alive:
        return step(_SOURCE, SKIPPED, "No load of this namespace is remembered; the offer is there without one.")
    if facts.link is UNKNOWN:
        return step(_SOURCE, UNASKED, "Whether the feed's link brings a file cannot be asked right now.")
    described = _describe_link(facts.link) if facts.link is not None else None
    return described or step(
        _SOURCE,
        STOPPED,
        "No load of this namespace is remembered.",
        code="NO_LOAD",
        suggestion="Check seller and namespace, and load a file that has the offer.",
    )


def _describe_link(link: Link) -> ExplanationStep | None:
    """Return why the link has brought no file, None where it has."""
    fetch = link.state.last_fetch
    if fetch.outcome == FETCH_OUTCOME_FAILED:
        fault = FETCH_FAULTS.get(fetch.code)
        words = fetch.message.removesuffix(fault.suggestion).rstrip() if fault is not None else fetch.message
        return step(
            _SOURCE,
            STOPPED,
            " ".join(filter(None, [f"The file could not be fetched ({fetch.code}).", words, _next_try(link)])),
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
            "The feed is paused, and its file was never loaded.",
            code="FEED_PAUSED",
            suggestion="Resume the feed; its file is fetched then.",
        )
    failed = f" Fetches that failed before: {link.state.failures:,}." if link.state.failures else ""
    later = "" if is_under_way or not is_set(link.state.next_fetch_time) else f" {_next_try(link)}"
    return step(
        _SOURCE,
        WAITING,
        f"The file of the feed {_STILL_TO_COME[fetch.outcome]}.{failed}{later} {_THEN}",
        time=fetch.start_time if is_set(fetch.start_time) else fetch.create_time,
    )


def _next_try(link: Link) -> str:
    if link.is_paused:
        return "The feed is paused, so it is not tried again."
    next_time = link.state.next_fetch_time
    return f"The next fetch is due at {when(next_time)}." if is_set(next_time) else ""


def _fix_of(fetch: Fetch) -> str:
    fault = FETCH_FAULTS.get(fetch.code)
    return fault.suggestion if fault is not None else "Do as the words of the fetch say, and run the feed again."


def _describe_file(facts: Facts, look: Look) -> ExplanationStep:
    task = look.task
    if look.is_delete:
        return step(_SOURCE, SKIPPED, f"Load {task.task_id} ended the feed; it has no file.", time=task.create_time)
    match facts.source:
        case Upload() as upload:
            name = f"“{upload.file_name}”" if upload.file_name else "The file"
            text = f"{name} ({upload.size_bytes:,} bytes) was uploaded; load {task.task_id} reads it."
            return step(_SOURCE, DONE, text, time=stamp(upload.created_at))
        case Fetch() as fetch:
            # A site that says that its file is as before sends none; by the end of the fetch the load is under way.
            time = fetch.download_time if fetch.HasField("download_time") else fetch.start_time
            text = f"Fetch {fetch.fetch_id} brought the file ({fetch.bytes:,} bytes); load {task.task_id} reads it."
            return step(_SOURCE, DONE, text, time=time)
        case None:
            name = f"“{task.file_name}”" if task.file_name else "The file"
            text = f"{name} ({task.source_bytes:,} bytes) came; load {task.task_id} reads it."
            return step(_SOURCE, DONE, text, time=task.create_time)
    return step(_SOURCE, UNASKED, f"How the file of load {task.task_id} came cannot be asked right now.")
