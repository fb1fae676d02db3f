"""gRPC reflection with the comments of the protos, so that `grpcurl describe` explains fields.

protoc leaves comments out of the stubs. `tools/generate/stubs.py` writes them to `classifeed/comments.json`, by file
and by path of the element, as in google.protobuf.SourceCodeInfo.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import grpc.aio
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse
from grpc_reflection.v1alpha.reflection_pb2_grpc import add_ServerReflectionServicer_to_server

import classifeed


class ServerReflection:
    """Describes the services of a server, with comments.

    Args:
        names: full names of the services.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._bare: Any = reflection.aio.ReflectionServicer(names)

    async def ServerReflectionInfo(
        self, requests: AsyncIterator[ServerReflectionRequest], context: Any
    ) -> AsyncIterator[ServerReflectionResponse]:
        """Yield a response for each request."""
        async for response in self._bare.ServerReflectionInfo(requests, context):
            if response.HasField("file_descriptor_response"):
                files = response.file_descriptor_response.file_descriptor_proto
                files[:] = [_with_comments(file) for file in files]
            yield response


def add_reflection(names: Iterable[str], server: grpc.aio.Server) -> None:
    """Add reflection of the services with these full names to a server."""
    add_ServerReflectionServicer_to_server(ServerReflection(names), server)  # type: ignore[no-untyped-call]


@cache
def _with_comments(serialized: bytes) -> bytes:
    file = FileDescriptorProto.FromString(serialized)
    for path, comment in _comments().get(file.name, ()):
        file.source_code_info.location.add(path=path, span=(0, 0, 0), leading_comments=comment)
    return file.SerializeToString()


@cache
def _comments() -> Mapping[str, list[tuple[list[int], str]]]:
    for root in classifeed.__path__:
        path = Path(root) / "comments.json"
        if path.exists():
            found: dict[str, list[tuple[list[int], str]]] = json.loads(path.read_text())
            return found
    return {}
