"""Logs: one JSON object a line in production, colours on a terminal; always with what the call at hand is about."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

from classifeed_common.telemetry import trace_ids


def configure_logging(service: str, *, level: str = "info", as_json: bool = True, stream: TextIO | None = None) -> None:
    """Sends the logs of structlog and of the standard library (libraries speak there) to one stream in one form.

    Call it once, at the start of the process, before the first gRPC server or channel: gRPC's core writes by itself and
    is told to keep to errors); a second call replaces the first.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _add_trace,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # Plain traces only: those of rich and of structlog's dictionaries show local variables, which hold passwords and
    # the texts of users.
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if as_json
        else structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *([structlog.processors.format_exc_info] if as_json else []),
            renderer,
        ],
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("uvicorn", "httpx", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(service=service)


def _add_trace(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    ids = trace_ids()
    if ids is not None:
        event["trace_id"], event["span_id"] = ids
    return event
