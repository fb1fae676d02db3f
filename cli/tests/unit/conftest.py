"""A fake installation with configurable responses, and a terminal of 80 columns for commands."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from rich.cells import cell_len

from classifeed.cleanweb.v1 import cleanweb_service_pb2
from classifeed.documents.v1 import indexer_service_pb2
from classifeed.feeds.v1 import feed_service_pb2
from classifeed.jobs.v1 import job_service_pb2
from classifeed.moderation.v1 import moderation_service_pb2
from classifeed.offers.v1 import offer_service_pb2
from classifeed.pictures.v1 import picture_service_pb2
from classifeed.points.v1 import point_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_cli.main import run

SNAPSHOTS = Path(__file__).with_name("snapshots")
WIDTH = 80


@dataclass
class Refusal:
    """A response that is an error status."""

    code: str
    reason: str
    message: str
    metadata: dict[str, str] = field(default_factory=dict)
    violations: dict[str, str] = field(default_factory=dict)
    retry_after_s: float | None = None


@dataclass
class Api:
    """All services at one address. Each method returns its configured responses, and repeats the last one."""

    address: str = ""
    requests: dict[str, list[Any]] = field(default_factory=dict)
    _responses: dict[str, list[Any]] = field(default_factory=dict)

    def respond(self, method: str, *responses: Any) -> None:
        """Set the responses of a method: a message, messages for a stream, a Refusal, or a callable.

        A callable receives the request, or, for client streaming, the iterator of requests.
        """
        self._responses[method] = list(responses)

    def _next(self, method: str, request: Any, context: grpc.ServicerContext) -> Any:
        responses = self._responses.get(method) or [Refusal("UNIMPLEMENTED", "NO_ANSWER", f"{method} has no answer")]
        response = responses.pop(0) if len(responses) > 1 else responses[0]
        if isinstance(request, Iterator) and not callable(response):
            request = list(request)
        self.requests.setdefault(method, []).append(request)
        if callable(response):
            response = response(request)
        if isinstance(response, Refusal):
            status = status_pb2.Status(code=code_pb2.Code.Value(response.code), message=response.message)
            status.details.add().Pack(error_details_pb2.ErrorInfo(reason=response.reason, metadata=response.metadata))
            if response.violations:
                wrong = [{"field": path, "description": words} for path, words in response.violations.items()]
                status.details.add().Pack(error_details_pb2.BadRequest(field_violations=wrong))
            if response.retry_after_s is not None:
                retry = error_details_pb2.RetryInfo()
                retry.retry_delay.FromNanoseconds(int(response.retry_after_s * 1e9))
                status.details.add().Pack(retry)
            context.abort_with_status(rpc_status.to_status(status))
        return response

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """Return a handler for each service."""
        files = (
            feed_service_pb2, offer_service_pb2, search_service_pb2, job_service_pb2, indexer_service_pb2,
            moderation_service_pb2, point_service_pb2, cleanweb_service_pb2, picture_service_pb2,
        )  # fmt: skip
        services = [service for file in files for service in file.DESCRIPTOR.services_by_name.values()]
        return [
            grpc.method_handlers_generic_handler(
                service.full_name, {method.name: self._handler(method) for method in service.methods}
            )
            for service in services
        ]

    def _handler(self, method: Any) -> grpc.RpcMethodHandler[Any, Any]:
        wire = {
            "request_deserializer": GetMessageClass(method.input_type).FromString,
            "response_serializer": lambda message: message.SerializeToString(),
        }
        if method.client_streaming:
            return grpc.stream_unary_rpc_method_handler(
                lambda requests, context: self._next(method.name, iter(requests), context), **wire
            )
        if method.server_streaming:

            def stream(request: Any, context: grpc.ServicerContext) -> Iterator[Message]:
                yield from self._next(method.name, request, context)

            return grpc.unary_stream_rpc_method_handler(stream, **wire)
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._next(method.name, request, context), **wire
        )


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    server = grpc.server(ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers(made.handlers())
    made.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield made
    server.stop(None).wait()


@dataclass(frozen=True)
class Ended:
    """The output and exit code of a command."""

    arguments: tuple[str, ...]
    out: str
    err: str
    exit_code: int

    def __str__(self) -> str:
        quoted = " ".join(f"'{each}'" if " " in each or not each else each for each in self.arguments)
        err = "".join(f"[stderr] {line}\n" for line in self.err.splitlines())
        return f"$ classifeed {quoted}\n{err}{self.out}exit {self.exit_code}\n"

    @property
    def document(self) -> dict[str, Any]:
        """The JSON on stdout."""
        found: dict[str, Any] = json.loads(self.out)
        return found


Terminal = Callable[..., Ended]


@pytest.fixture
def terminal(api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """Run a command on a terminal of 80 columns, in the time zone UTC+3."""
    for name in [name for name in os.environ if name.startswith("CLASSIFEED_")]:
        monkeypatch.delenv(name)
    environment = {"COLUMNS": str(WIDTH), "TTY_COMPATIBLE": "1", "TERM": "dumb", "TZ": "MSK-3"}
    for name, value in {**environment, "CLASSIFEED_ADDRESS": api.address, "CLASSIFEED_TOKEN": "t"}.items():
        monkeypatch.setenv(name, value)
    time.tzset()

    def execute(*arguments: str) -> Ended:
        exit_code = run(arguments)
        captured = capsys.readouterr()
        return Ended(arguments, captured.out, captured.err, exit_code)

    yield execute
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def snapshot(api: Api) -> Callable[[str, Ended], None]:
    """Compare the output of a command with a file; CLASSIFEED_REWRITE_SNAPSHOTS=1 writes the file."""

    def compare(name: str, ended: Ended) -> None:
        text = str(ended).replace(api.address, "127.0.0.1:50000")
        if "--json" not in ended.arguments:
            for line in (ended.out + ended.err).splitlines():
                assert cell_len(line) <= WIDTH or "://" in line, f"wider than the terminal: {line!r}"
        file = SNAPSHOTS / f"{name}.txt"
        if REWRITE:
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")

    return compare


REWRITE = bool(os.environ.get("CLASSIFEED_REWRITE_SNAPSHOTS"))


@pytest.fixture
def refusal() -> type[Refusal]:
    """Return a response that is an error status."""
    return Refusal
