"""Logging: one JSON object per line in production, colours on a terminal, with the context of the current call.

Loggers whose names end in `.audit` are the audit log: requests and changes. The audit log has a separate file.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from datetime import UTC, tzinfo
from typing import Any, Final, TextIO

import structlog

from classifeed_common.clock import stamp
from classifeed_common.telemetry.log_files import RotatedFile
from classifeed_common.telemetry.tracing import trace_ids

RPC_AUDIT: Final = "classifeed_common.rpc.audit"
_AUDIT: Final = ".audit"
# Libraries that log too much: httpcore logs the headers of responses, urllib3 each line.
_NOISY: Final = ("uvicorn", "httpx", "httpcore", "urllib3")


def configure_logging(
    service: str,
    *,
    level: str = "info",
    as_json: bool = True,
    stream: TextIO | None = None,
    zone: tzinfo = UTC,
    log_file: RotatedFile | None = None,
    audit_file: RotatedFile | None = None,
) -> None:
    """Send the logs of structlog and of the standard library, which libraries use, to one stream in one format.

    Call it once, at the start of the process, before the first gRPC server or channel: gRPC's core logs on its own and
    is limited to errors here. A second call replaces the first.

    Args:
        service: name in each line.
        level: lowest level that is logged.
        as_json: whether the stream is JSON; files always are.
        stream: stream of the log; None: stderr.
        zone: time zone of the timestamps.
        log_file: file for all lines.
        audit_file: file for the audit log; None: gRPC requests, which are many, leave no audit lines.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _add_trace,
        _Clock(zone),
    ]
    # Plain tracebacks only: those of rich and of structlog's dictionaries show local variables, which contain passwords
    # and texts of users.
    as_lines = _formatter(
        shared, [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    )
    for_reading = _formatter(shared, [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)])
    on_stream = logging.StreamHandler(stream or sys.stderr)
    on_stream.setFormatter(as_lines if as_json else for_reading)
    handlers: list[logging.Handler] = [on_stream]
    for file in (log_file, audit_file):
        if file is not None:
            file.setFormatter(as_lines)
            handlers.append(file)
    if audit_file is not None:
        audit_file.addFilter(lambda record: record.name.endswith(_AUDIT))
    root = logging.getLogger()
    for former in root.handlers:
        if isinstance(former, RotatedFile):
            former.close()
    root.handlers[:] = handlers
    root.setLevel(level.upper())
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)
    logging.getLogger(RPC_AUDIT).setLevel(logging.WARNING if audit_file is None else logging.NOTSET)
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


def _formatter(shared: list[Any], last: list[Any]) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last]
    )


class _Clock:
    """Adds a timestamp in a time zone, with its offset, so that it is unambiguous.

    The system's time zone is not used.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone

    def __call__(self, _: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["timestamp"] = stamp(self._zone)
        return event


def _add_trace(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    ids = trace_ids()
    if ids is not None:
        event["trace_id"], event["span_id"] = ids
    return event
