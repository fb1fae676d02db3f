"""For every RPC in the contracts: calls need a token, the method is in the table of callers, and the response to an
invalid request names the invalid field."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import protovalidate
import pytest
import pytest_asyncio
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub, add_HealthServicer_to_server
from grpc_reflection.v1alpha import reflection
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub

from classifeed_common.auth import ALL_OWNERS, KeyStore, create_team_token
from classifeed_common.contracts import list_methods, list_services
from classifeed_common.rpc.health import Health
from classifeed_common.rpc.reflection import add_reflection
from classifeed_common.rpc.server import Servicer, build_server
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.rpc import OpenChannel, settings_for
from classifeed_domain.policy import CALLERS, POLICY

METHODS = dict(list_methods())
AUDIENCE = "everything"


async def read_all(requests: AsyncIterator[Message], _: object) -> None:
    async for _ in requests:
        pass
    raise NotImplementedError


def bare_servicer(service: ServiceDescriptor) -> Servicer:
    """Return the generated base class, which reads request streams and then refuses every call as UNIMPLEMENTED."""
    module = importlib.import_module(service.file.name.removesuffix(".proto").replace("/", ".") + "_pb2_grpc")
    implementation = getattr(module, f"{service.name}Servicer")()
    for method in service.methods:
        if method.client_streaming:
            setattr(implementation, method.name, read_all)
    return Servicer.of(getattr(module, f"add_{service.name}Servicer_to_server"), implementation)


@pytest_asyncio.fixture
async def target(keys: KeyStore, socket_dir: Any) -> AsyncIterator[str]:
    server = build_server(settings_for(AUDIENCE), POLICY, keys=keys)
    health = Health([])
    add_HealthServicer_to_server(health, server)
    servicers = [bare_servicer(service) for service in list_services()]
    for servicer in servicers:
        servicer.add(server)
    add_reflection([reflection.SERVICE_NAME, *(s.name for s in servicers)], server)
    address = f"unix:{socket_dir}/all"
    server.add_insecure_port(address)
    await server.start()
    yield address
    await server.stop(0)


async def call(channel: grpc.aio.Channel, full_method: str, request: Message) -> object:
    """Call a unary or streaming method with one message and return its first response."""
    method = METHODS[full_method]
    shape = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
    start: Callable[..., Any] = getattr(channel, shape)(
        full_method,
        request_serializer=type(request).SerializeToString,
        response_deserializer=GetMessageClass(method.output_type).FromString,
    )
    started = start(iter([request]) if method.client_streaming else request, timeout=10)
    return await started.read() if method.server_streaming else await started


async def refusal(channel: grpc.aio.Channel, full_method: str, request: Message) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call(channel, full_method, request)
    return refused.value


def empty_request(full_method: str) -> Message:
    return GetMessageClass(METHODS[full_method].input_type)()


def wrong_request(method: MethodDescriptor) -> tuple[Message, str] | None:
    """Return a request with one invalid field and the name of the field, or None if no value is invalid.

    The function tries values that rules tend to exclude, field by field.
    """
    for field in method.input_type.fields:
        for value in wrong_values(field):
            request = GetMessageClass(method.input_type)()
            if field.is_repeated or field.message_type is not None:
                continue
            setattr(request, field.name, value)
            found = {_field_of(violation) for violation in protovalidate.collect_violations(request)}
            if field.name in found:
                return request, field.name
    request = GetMessageClass(method.input_type)()
    violations = protovalidate.collect_violations(request)
    return (request, _field_of(violations[0])) if violations else None


def _field_of(violation: protovalidate.Violation) -> str:
    assert violation.proto.field is not None
    return str(violation.proto.field.elements[0].field_name)


def wrong_values(field: FieldDescriptor) -> Sequence[object]:
    return {
        FieldDescriptor.CPPTYPE_STRING: [b"\0" * 1_100_000]
        if field.type == field.TYPE_BYTES
        else ["\0 no such", "я" * 4000, "я" * 9000],  # for small requests the response names all violations
        FieldDescriptor.CPPTYPE_INT32: [-1, 2**31 - 1],
        FieldDescriptor.CPPTYPE_INT64: [-1],
        FieldDescriptor.CPPTYPE_ENUM: [12345],
    }.get(field.cpp_type, [])


def test_there_are_methods() -> None:
    assert len(METHODS) > 20


def test_every_method_is_in_the_policy_and_nothing_else_is() -> None:
    assert set(CALLERS) == set(METHODS)
    assert all(CALLERS.values())


async def test_a_call_without_a_token_is_refused(target: str, rpc_channel: OpenChannel) -> None:
    channel = rpc_channel(target, caller="operator", audience=AUDIENCE, signed=False)
    for full_method in METHODS:
        error = await refusal(channel, full_method, empty_request(full_method))
        found = error.code(), from_rpc_error(error).reason
        assert found == (grpc.StatusCode.UNAUTHENTICATED, "TICKET_MISSING"), full_method


async def test_only_listed_callers_get_in(target: str, rpc_channel: OpenChannel) -> None:
    for caller in sorted({"operator", "api", "processor"}.union(*CALLERS.values())):
        channel = rpc_channel(target, caller=caller, audience=AUDIENCE)
        for full_method in METHODS:
            error = await refusal(channel, full_method, empty_request(full_method))
            refused = error.code() is grpc.StatusCode.PERMISSION_DENIED
            assert refused == (caller not in CALLERS[full_method]), f"{caller}, {full_method}: {error.code()}"


# A request without fields cannot be invalid.
WITH_FIELDS = [full_method for full_method, method in METHODS.items() if method.input_type.fields]


async def test_a_wrong_request_names_the_field(target: str, rpc_channel: OpenChannel) -> None:
    callers = {min(CALLERS[full_method]) for full_method in WITH_FIELDS}
    channels = {caller: rpc_channel(target, caller=caller, audience=AUDIENCE) for caller in callers}
    for full_method in WITH_FIELDS:
        wrong = wrong_request(METHODS[full_method])
        assert wrong is not None, f"the request of {full_method} has no rules at all: give it some in its proto"
        request, field = wrong
        error = await refusal(channels[min(CALLERS[full_method])], full_method, request)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, full_method
        named = {violation.field.partition(".")[0].partition("[")[0] for violation in from_rpc_error(error).violations}
        assert field in named, full_method


async def test_health_needs_no_token(target: str) -> None:
    async with grpc.aio.insecure_channel(target) as channel:
        response = await HealthStub(channel).Check(HealthCheckRequest())  # type: ignore[attr-defined]
        assert response.status


async def test_reflection_needs_no_token_and_lists_every_service(target: str) -> None:
    async with grpc.aio.insecure_channel(target) as channel:
        stub = ServerReflectionStub(channel)  # type: ignore[arg-type]
        requests = iter([ServerReflectionRequest(list_services="*")])
        calls = stub.ServerReflectionInfo(requests)  # type: ignore[operator]
        response = await calls.read()
    listed = {service.name for service in response.list_services_response.service}
    assert {service.full_name for service in list_services()} <= listed


async def test_a_token_of_a_team_opens_its_methods_and_no_others(keys: KeyStore, socket_dir: Path) -> None:
    server = build_server(settings_for("api"), POLICY, keys=keys)
    feeds = next(service for service in list_services() if service.name == "FeedService")
    bare_servicer(feeds).add(server)
    address = f"unix:{socket_dir}/api"
    server.add_insecure_port(address)
    await server.start()
    try:
        token, _ = create_team_token(
            keys.directory, "shop", ["FeedService/GetTask"], 3600, owners=[ALL_OWNERS], policy=POLICY
        )
        async with grpc.aio.insecure_channel(address) as channel:
            codes = {}
            for name in ("GetTask", "PauseFeed"):
                method = f"/{feeds.full_name}/{name}"
                resource = "sellers/s/feeds/default" + ("/tasks/1" if name == "GetTask" else "")
                request = GetMessageClass(METHODS[method].input_type)(name=resource)
                with pytest.raises(grpc.aio.AioRpcError) as ended:
                    await channel.unary_unary(method, request_serializer=type(request).SerializeToString)(
                        request, metadata=(("authorization", f"Bearer {token}"),), timeout=10
                    )
                codes[name] = ended.value.code()
    finally:
        await server.stop(0)
    assert codes == {"GetTask": grpc.StatusCode.UNIMPLEMENTED, "PauseFeed": grpc.StatusCode.PERMISSION_DENIED}
