"""Checks of requests against the limits of the engine, before any statement (ADR 0093)."""

from __future__ import annotations

from typing import Final

from classifeed_jobs.model.job import JobFilter, JobRequest
from classifeed_jobs.model.storable import (
    MAX_KEY,
    MAX_LABEL,
    MAX_NAME,
    MAX_QUEUE,
    NotStorable,
    check_numbers,
    check_texts,
    find_control,
    json_text,
)

_FILTERED: Final = (
    ("queue", MAX_QUEUE),
    ("task", MAX_NAME),
    ("lock_key", MAX_KEY),
    ("partition_key", MAX_LABEL),
    ("producer", MAX_LABEL),
    ("consumer_group", MAX_LABEL),
)


def check_queue(queue: str) -> None:
    """Check the name of a queue.

    Raises:
        NotStorable: The name does not have 1 to 63 characters, or has control characters.
    """
    check_texts([("queue", queue, MAX_QUEUE)])
    if fault := find_control(queue):
        raise NotStorable(f"queue {fault}: choose another name")


def check_request(request: JobRequest) -> str:
    """Check a request, and return its args as JSON text.

    Raises:
        NotStorable: A value exceeds the limits of the engine.
    """
    try:
        check_queue(request.queue)
        check_texts(
            (
                ("task", request.task, MAX_NAME),
                ("lock_key", request.lock_key, MAX_KEY),
                ("idempotency_key", request.idempotency_key, MAX_KEY),
                ("partition_key", request.partition_key, MAX_LABEL),
                ("producer", request.producer, MAX_LABEL),
                ("consumer_group", request.consumer_group, MAX_LABEL),
            )
        )
        check_numbers(
            priority=request.priority, max_attempts=request.max_attempts, lease_ttl_s=request.lease_ttl_s or None
        )
        if request.trace_context:
            json_text("trace_context", dict(request.trace_context))
        return json_text("args", dict(request.args))
    except NotStorable as error:
        where = f"a job for queue {request.queue[:MAX_QUEUE]!a}, task {request.task[:MAX_NAME]!a}"
        raise NotStorable(f"{where} was not enqueued: {error}") from error


def check_filter(which: JobFilter) -> None:
    """Check a filter.

    Raises:
        NotStorable: A value exceeds the limits of the engine, so that no job can have it.
    """
    check_texts((name, getattr(which, name), limit) for name, limit in _FILTERED)
