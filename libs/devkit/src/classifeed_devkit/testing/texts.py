"""Messages with NUL in each of their texts, and a check that a server refuses them in every method."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Final, TypeVar

import grpc.aio
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from classifeed_common.auth.policy import OPERATOR, SERVICE
from classifeed_common.contracts import list_methods
from classifeed_common.rpc.status import from_rpc_error
from classifeed_common.rpc.texts import is_left_to_service
from classifeed_domain.policy import POLICY

TEXT: Final = "a\0b"
_CALL_LIMIT_S: Final = 60.0


def list_texts(
    descriptor: Descriptor,
    skip: Callable[[FieldDescriptor], bool] = lambda _: False,
    above: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, Message]]:
    """Yield (path, message) for each possible text of a message: this text has NUL, and nothing else is set."""
    for field in descriptor.fields:
        if skip(field):
            continue
        if field.type == FieldDescriptor.TYPE_STRING:
            yield _put(descriptor, field, TEXT)
        elif field.message_type is not None and field.message_type.full_name not in above:
            for path, part in list_texts(field.message_type, skip, above | {descriptor.full_name}):
                place, message = _put(descriptor, field, part)
                yield (place if _is_map(field) else f"{place}.{path}"), message


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _put(descriptor: Descriptor, field: FieldDescriptor, value: str | Message) -> tuple[str, Message]:
    message = GetMessageClass(descriptor)()
    if _is_map(field):
        getattr(message, field.name)[value.key] = value.value  # type: ignore[union-attr]
        return field.name, message
    if field.is_repeated:
        getattr(message, field.name).append(value)
        return f"{field.name}[0]", message
    if isinstance(value, str):
        setattr(message, field.name, value)
    else:
        getattr(message, field.name).CopyFrom(value)
    return field.name, message


def fill_texts(message: Message, text: str = "x") -> None:
    """Set each possible text of a message, in one item of each list."""
    for field in message.DESCRIPTOR.fields:
        if field.type == FieldDescriptor.TYPE_STRING:
            if field.is_repeated:
                getattr(message, field.name).append(text)
            else:
                setattr(message, field.name, text)
        elif field.type == FieldDescriptor.TYPE_MESSAGE and any(list_texts(field.message_type)):  # type: ignore[arg-type]
            part = getattr(message, field.name)
            fill_texts(part.add() if field.is_repeated else part, text)


MessageT = TypeVar("MessageT", bound=Message)


def spoil_texts(message: MessageT) -> Iterator[tuple[str, MessageT]]:
    """Yield (path, copy) for each text that is set in a message; the copy has NUL in this text."""
    for number, (path, _) in enumerate(list(_setters(message))):
        copy = deepcopy(message)
        list(_setters(copy))[number][1](TEXT)
        yield path, copy


def _setters(message: Message) -> Iterator[tuple[str, Callable[[str], None]]]:
    for field, value in message.ListFields():
        items = value if field.is_repeated else [value]
        for index, item in enumerate(items):
            place = f"{field.name}[{index}]" if field.is_repeated else field.name
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                yield from ((f"{place}.{path}", put) for path, put in _setters(item))
            elif field.type == FieldDescriptor.TYPE_STRING and field.is_repeated:
                yield place, partial(value.__setitem__, index)
            elif field.type == FieldDescriptor.TYPE_STRING:
                yield place, partial(setattr, message, field.name)


async def check_that_nul_is_refused(
    connect: Callable[..., grpc.aio.Channel], target: str, audience: str, *services: str
) -> None:
    """Send NUL in each text of each method, and assert that each is refused with INVALID_ARGUMENT and the text's path.

    Args:
        connect: the fixture `rpc_channel`.
        target: address of the server, which has its real servicers and their database.
        audience: audience of the server's tokens.
        services: full names of all gRPC services of the server.
    """
    channels = {caller: connect(target, caller=caller, audience=audience) for caller in (OPERATOR, SERVICE)}
    methods = [(name, method) for name, method in list_methods() if method.containing_service.full_name in services]
    assert {method.containing_service.full_name for _, method in methods} == set(services)
    wrong = []
    for name, method in methods:
        channel = channels[OPERATOR if OPERATOR in POLICY.callers_of(name) else SERVICE]
        for path, request in list_texts(method.input_type, is_left_to_service):
            found = await _refusal_of(channel, name, method, request)
            if found != (grpc.StatusCode.INVALID_ARGUMENT, [path]):
                wrong.append((name, path, found))
    assert not wrong


async def _refusal_of(
    channel: grpc.aio.Channel, name: str, method: MethodDescriptor, request: Message
) -> tuple[grpc.StatusCode | None, list[str]]:
    async def requests() -> AsyncIterator[Message]:
        yield request

    make = getattr(
        channel,
        f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}",
    )
    serialize = GetMessageClass(method.input_type).SerializeToString
    call = make(name, request_serializer=serialize, response_deserializer=lambda data: data)(
        requests() if method.client_streaming else request, timeout=_CALL_LIMIT_S
    )
    try:
        if method.server_streaming:
            async for _ in call:
                break
        else:
            await call
    except grpc.aio.AioRpcError as error:
        return error.code(), [violation.field for violation in from_rpc_error(error).violations]
    return grpc.StatusCode.OK, []
