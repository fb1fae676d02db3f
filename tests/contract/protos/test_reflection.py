"""The descriptors of server reflection have the comments of the protos."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import grpc.aio
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub

from classifeed_common.contracts import list_services
from classifeed_common.rpc.reflection import add_reflection

_MESSAGE, _FIELD, _ENUM, _VALUE, _SERVICE, _METHOD = 4, 2, 5, 2, 6, 2


def elements(file: FileDescriptorProto) -> dict[tuple[int, ...], str]:
    """Return the elements of a file that have comments, by path, without nested elements of messages."""
    found: dict[tuple[int, ...], str] = {}
    for number, message in enumerate(file.message_type):
        found[_MESSAGE, number] = message.name
        found |= {(_MESSAGE, number, _FIELD, n): f"{message.name}.{f.name}" for n, f in enumerate(message.field)}
    for number, enum in enumerate(file.enum_type):
        found[_ENUM, number] = enum.name
        found |= {(_ENUM, number, _VALUE, n): value.name for n, value in enumerate(enum.value)}
    for number, service in enumerate(file.service):
        found[_SERVICE, number] = service.name
        found |= {(_SERVICE, number, _METHOD, n): f"{service.name}.{m.name}" for n, m in enumerate(service.method)}
    return found


async def test_every_element_of_every_service_is_described_with_its_comment(socket_dir: Path) -> None:
    server = grpc.aio.server()
    names = [service.full_name for service in list_services()]
    add_reflection(names, server)
    address = f"unix:{socket_dir}/reflection"
    server.add_insecure_port(address)
    await server.start()

    async def requests() -> AsyncIterator[ServerReflectionRequest]:
        for name in names:
            yield ServerReflectionRequest(file_containing_symbol=name)

    files: dict[str, FileDescriptorProto] = {}
    async with grpc.aio.insecure_channel(address) as channel:
        async for response in ServerReflectionStub(channel).ServerReflectionInfo(requests()):  # type: ignore[arg-type,operator]
            for serialized in response.file_descriptor_response.file_descriptor_proto:
                file = FileDescriptorProto.FromString(serialized)
                files[file.name] = file
    await server.stop(0)
    own = {name: file for name, file in files.items() if name.startswith("classifeed/")}
    assert len(own) > 10
    for file in own.values():
        commented = {tuple(location.path) for location in file.source_code_info.location}
        assert {name for path, name in elements(file).items() if path not in commented} == set(), file.name
