"""Spans go to a collector by the standard OTEL_* variables; a missing collector delays nothing.

Tracing is set once per process, so each test has a separate process.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)

PROGRAM = """
    import json, sys, time
    from opentelemetry import trace
    from classifeed_common.telemetry.logging import configure_logging
    from classifeed_common.telemetry.tracing import configure_tracing, trace_ids

    configure_logging("offers")
    tracing = configure_tracing("offers", environment="test")
    tracer = trace.get_tracer("test")
    for number in range(int(sys.argv[1])):
        with tracer.start_as_current_span(f"span {number}"):
            ids = trace_ids()
    began_s = time.monotonic()
    tracing.shutdown()
    print(json.dumps({"traced": ids is not None, "shutdown_s": time.monotonic() - began_s}))
"""


class Collector(TraceServiceServicer):
    """Accepts spans; while it is paused it accepts them but does not respond."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.metadata: dict[str, str] = {}
        self.may_respond = threading.Event()
        self.may_respond.set()

    def Export(self, request: ExportTraceServiceRequest, context: Any) -> ExportTraceServiceResponse:
        self.requests.append(request)
        self.metadata = dict(context.invocation_metadata())
        self.may_respond.wait()
        return ExportTraceServiceResponse()

    def spans(self) -> list[tuple[dict[str, str], str]]:
        """Return the attributes of the process and the name of each span."""
        return [
            ({item.key: item.value.string_value for item in resource.resource.attributes}, span.name)
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


Found = tuple[Collector, dict[str, str]]


@pytest.fixture
def collector() -> Iterator[Found]:
    """Yield a collector, and the variables that point to it."""
    servicer = Collector()
    server = grpc.server(ThreadPoolExecutor(4))
    add_TraceServiceServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield servicer, {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
    servicer.may_respond.set()
    server.stop(0).wait()


@dataclass(frozen=True)
class Ended:
    traced: bool
    shutdown_s: float
    log: list[dict[str, Any]]


def run(variables: dict[str, str], spans: int = 1) -> Ended:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM), str(spans)],
        env={**clean, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Ended(**json.loads(done.stdout), log=[json.loads(line) for line in done.stderr.splitlines()])


def test_an_endpoint_is_enough_for_spans_to_come(collector: Found) -> None:
    servicer, found_by = collector
    ended = run({**found_by, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=secret"})
    [(resource, name)] = servicer.spans()
    assert name == "span 0"
    assert (resource["service.name"], resource["deployment.environment.name"]) == ("offers", "test")
    assert servicer.metadata["api-key"] == "secret"
    assert ended.traced
    assert ended.log == []


def test_what_the_variables_say_of_the_process_wins(collector: Found) -> None:
    servicer, found_by = collector
    run(
        {**found_by, "OTEL_SERVICE_NAME": "ours", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=prod,zone=a"}
    )
    [(resource, _)] = servicer.spans()
    names = ("service.name", "deployment.environment.name", "zone", "service.namespace")
    assert [resource[name] for name in names] == ["ours", "prod", "a", "classifeed"]


@pytest.mark.parametrize(
    ("variables", "is_traced"),
    [
        ({"OTEL_TRACES_EXPORTER": "none"}, True),
        ({"OTEL_TRACES_SAMPLER": "always_off"}, True),
        ({"OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_variables_turn_it_off(collector: Found, variables: dict[str, str], is_traced: bool) -> None:
    servicer, found_by = collector
    ended = run({**found_by, **variables})
    assert servicer.spans() == []
    assert ended.traced is is_traced  # trace ids in logs


def test_a_collector_that_stands_still_holds_up_nobody(collector: Found) -> None:
    """It delays neither the work (more spans than are kept) nor the exit: the SDK alone would wait 30 s."""
    servicer, found_by = collector
    servicer.may_respond.clear()
    ended = run({**found_by, "OTEL_EXPORTER_OTLP_TIMEOUT": "3600"}, spans=5000)
    assert servicer.requests
    assert ended.shutdown_s < 20
    assert len(ended.log) <= 1


def test_a_collector_that_is_away_is_told_of_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        ended = run(
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": address,
                "OTEL_EXPORTER_OTLP_TIMEOUT": "0.1",
                "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1",
            },
            spans=5,
        )
    assert [line["event"] for line in ended.log] == ["telemetry.export.failed"]


def test_nobody_is_looked_for_unless_a_variable_says_so() -> None:
    assert run({}).log == []
