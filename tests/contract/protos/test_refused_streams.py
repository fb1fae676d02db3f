"""For every RPC with a request stream: a caller that is still writing gets the status of its refusal."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio
import pytest
import pytest_asyncio
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from classifeed_common.auth import KeyStore
from classifeed_common.auth.policy import OPERATOR
from classifeed_common.contracts import list_methods, list_services
from classifeed_common.errors import ResourceExhausted
from classifeed_common.rpc.server import Servicer, build_server
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.rpc import settings_for
from classifeed_domain.policy import CALLERS, POLICY

AUDIENCE: Final = "everything"
METHODS: Final = {full: method for full, method in list_methods() if method.client_streaming}
_REQUESTS: Final = 80
_CALLS: Final = 4
_DAMAGED_CALLS: Final = 12  # only some calls lose the refusal
MakeToken = Callable[[KeyStore, str], str]


# Requests of a caller, and the reason in the refusal.
TOKENS: Final[dict[str, MakeToken]] = {
    "TICKET_MISSING": lambda keys, method: "",
    "TICKET_INVALID": lambda keys, method: "Bearer a.b.c",
    "TICKET_FOR_ANOTHER": lambda keys, method: "Bearer " + keys.issue(OPERATOR, "another"),
    "TICKET_EXPIRED": lambda keys, method: "Bearer " + keys.issue(OPERATOR, AUDIENCE, -60),
    "TICKET_TOO_LONG": lambda keys, method: "Bearer " + keys.issue(OPERATOR, AUDIENCE, 100_000),
    "CALLER_NOT_ALLOWED": lambda keys, method: "Bearer " + keys.issue("indexer", AUDIENCE),
    "FULL": lambda keys, method: "Bearer " + keys.issue(min(CALLERS[method] - {"service"}), AUDIENCE),
}


def _full_servicer(full_method: str) -> Servicer:
    """Return a servicer that refuses each call at its first request."""
    service = next(each for each in list_services() if full_method.startswith(f"/{each.full_name}/"))
    module = importlib.import_module(service.file.name.removesuffix(".proto").replace("/", ".") + "_pb2_grpc")
    implementation = getattr(module, f"{service.name}Servicer")()

    async def refuse_stream(requests: AsyncIterator[Message], _: object) -> AsyncIterator[Message]:
        async for _request in requests:
            raise ResourceExhausted("FULL", "No more is taken.")
        yield  # type: ignore[misc]

    async def refuse(requests: AsyncIterator[Message], _: object) -> None:
        async for _request in requests:
            raise ResourceExhausted("FULL", "No more is taken.")

    method = METHODS[full_method]
    setattr(implementation, method.name, refuse_stream if method.server_streaming else refuse)
    return Servicer.of(getattr(module, f"add_{service.name}Servicer_to_server"), implementation)


@pytest_asyncio.fixture
async def channel(keys: KeyStore, socket_dir: Path) -> AsyncIterator[grpc.aio.Channel]:
    server = build_server(settings_for(AUDIENCE), POLICY, keys=keys)
    for full_method in METHODS:
        _full_servicer(full_method).add(server)
    address = f"unix:{socket_dir}/all"
    server.add_insecure_port(address)
    await server.start()
    async with grpc.aio.insecure_channel(address) as opened:
        yield opened
    await server.stop(0)


def _valid_request(full_method: str) -> Message:
    made = GetMessageClass(METHODS[full_method].input_type)()
    if (client := made.DESCRIPTOR.fields_by_name.get("client")) is not None:
        setattr(made, client.name, "offers")
    return made


async def _ended(channel: grpc.aio.Channel, full_method: str, authorization: str, requests: Any) -> tuple[str, str]:
    """Return code and reason of a call."""
    method = METHODS[full_method]
    start: Callable[..., Any] = getattr(channel, f"stream_{'stream' if method.server_streaming else 'unary'}")(
        full_method,
        request_serializer=lambda request: request if isinstance(request, bytes) else request.SerializeToString(),
        response_deserializer=GetMessageClass(method.output_type).FromString,
    )
    metadata = (("authorization", authorization),) if authorization else ()
    call = start(requests, timeout=20, metadata=metadata)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await (call.read() if method.server_streaming else call)
    return refused.value.code().name, from_rpc_error(refused.value).reason


async def _many(request: Message | bytes) -> AsyncIterator[Message | bytes]:
    for _ in range(_REQUESTS):
        yield request
        await asyncio.sleep(0)


@pytest.mark.parametrize("reason", TOKENS)
@pytest.mark.parametrize("full_method", METHODS)
async def test_a_caller_that_still_writes_gets_the_refusal(
    channel: grpc.aio.Channel, keys: KeyStore, full_method: str, reason: str
) -> None:
    authorization = TOKENS[reason](keys, full_method)
    request = _valid_request(full_method)
    seen = {await _ended(channel, full_method, authorization, _many(request)) for _ in range(_CALLS)}
    if reason == "FULL":  # otherwise validation refuses the empty request in the same way
        assert seen <= {("RESOURCE_EXHAUSTED", "FULL"), ("INVALID_ARGUMENT", "REQUEST_INVALID")}
    else:
        code = "PERMISSION_DENIED" if reason == "CALLER_NOT_ALLOWED" else "UNAUTHENTICATED"
        assert seen == {(code, reason)}


@pytest.mark.parametrize("full_method", METHODS)
async def test_requests_that_cannot_be_parsed_hide_no_refusal(channel: grpc.aio.Channel, full_method: str) -> None:
    seen = {await _ended(channel, full_method, "", _many(b"\xff\xff")) for _ in range(_DAMAGED_CALLS)}
    assert seen == {("UNAUTHENTICATED", "TICKET_MISSING")}


@pytest.mark.parametrize("full_method", METHODS)
async def test_a_caller_that_waits_for_the_response_gets_the_refusal(
    channel: grpc.aio.Channel, full_method: str
) -> None:
    answered = asyncio.Event()

    async def one_and_no_end() -> AsyncIterator[Message]:
        yield _valid_request(full_method)
        await answered.wait()

    assert await _ended(channel, full_method, "", one_and_no_end()) == ("UNAUTHENTICATED", "TICKET_MISSING")
    answered.set()


@pytest.mark.parametrize("full_method", METHODS)
async def test_a_caller_that_never_stops_is_refused(channel: grpc.aio.Channel, full_method: str) -> None:
    async def endless() -> AsyncIterator[Message]:
        while True:
            yield _valid_request(full_method)
            await asyncio.sleep(0)

    code, _ = await _ended(channel, full_method, "", endless())
    assert code in {"UNAUTHENTICATED", "INTERNAL"}  # INTERNAL while the caller writes (grpc/grpc#36066)
