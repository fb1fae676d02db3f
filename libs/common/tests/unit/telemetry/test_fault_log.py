"""A passing fault is one line; a fault of the code has its traceback."""

from __future__ import annotations

import errno
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import structlog
from psycopg_pool import PoolTimeout

from classifeed_common.clock import FakeClock
from classifeed_common.errors import FailedPrecondition, Unavailable
from classifeed_common.faults.lasting import LastingFault
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.telemetry.logging import configure_logging

_ROOT = Path(__file__).parents[5]
# Each reports a fault of the code, or an unforeseen exception of a handler.
_WITH_TRACEBACK = {
    "classifeed_common/telemetry/fault_log.py",
    "classifeed_common/rpc/faults.py",
    "classifeed_jobs/model/failure_hooks.py",
    "classifeed_jobs/worker/run.py",
    "classifeed_jobs/worker/slots.py",
}


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    handlers, level, former = logging.root.handlers[:], logging.root.level, structlog.get_config()
    stream = io.StringIO()
    configure_logging("shop", stream=stream)
    yield stream
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    structlog.configure(**former)
    structlog.contextvars.clear_contextvars()


def log(stream: io.StringIO, error: Exception, **fields: object) -> dict[str, object]:
    try:
        raise error
    except type(error) as caught:
        log_fault(structlog.get_logger("one"), "shop.sale.failed", caught, **fields)  # type: ignore[arg-type]
    [line] = stream.getvalue().splitlines()
    return dict(json.loads(line))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (psycopg.errors.AdminShutdown("terminating\nconnection"), "AdminShutdown: terminating connection"),
        (PoolTimeout("no connection after 30 s"), "PoolTimeout: no connection after 30 s"),
        (OSError(errno.ENOSPC, "No space left"), "OSError: [Errno 28] No space left"),
        (TimeoutError(), "TimeoutError"),
        (Unavailable("KAFKA_UNAVAILABLE", "Kafka is away"), "Unavailable: KAFKA_UNAVAILABLE: Kafka is away"),
        (FailedPrecondition("NO_SCHEMA", "no schema yet"), "FailedPrecondition: NO_SCHEMA: no schema yet"),
    ],
)
def test_what_passes_or_has_a_message_of_ours_is_a_warning_without_traceback(
    stream: io.StringIO, error: Exception, words: str
) -> None:
    line = log(stream, error, retry_in_s=0.5, lease="a")
    assert (line["level"], line["error"], line["retry_in_s"], line["lease"]) == ("warning", words, 0.5, "a")
    assert "exception" not in line


def test_what_nobody_foresaw_is_an_error_with_its_traceback_once(stream: io.StringIO) -> None:
    line = log(stream, KeyError("price"))
    assert (line["level"], line["error"]) == ("error", "KeyError: 'price'")
    assert "Traceback" in str(line["exception"])
    assert "retry_in_s" not in line
    stream.truncate(0)
    stream.seek(0)
    assert "exception" not in log(stream, KeyError("price"), is_repeated=True)


def test_tracebacks_are_logged_by_the_shared_piece_and_for_faults_of_the_code_alone() -> None:
    sources = [*_ROOT.glob("libs/*/src/**/*.py"), *_ROOT.glob("services/*/src/**/*.py")]
    assert len(sources) > 300
    found = {
        str(path).rpartition("/src/")[2]
        for path in sources
        if re.search(r"exc_info=|log\.exception\(|format_exc\(|print_exc\(", path.read_text())
    }
    assert found == _WITH_TRACEBACK


def test_one_that_is_noted_has_its_traceback_the_first_time_alone(stream: io.StringIO) -> None:
    fault = LastingFault(FakeClock())
    assert "exception" in log(stream, KeyError("price"), noted_in=fault)
    assert fault.attempts == 1
    stream.truncate(0)
    stream.seek(0)
    assert "exception" not in log(stream, KeyError("price"), noted_in=fault)
    assert fault.attempts == 2
