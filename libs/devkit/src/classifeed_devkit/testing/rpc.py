"""In-process gRPC: new keys, real servers with the real interceptor on unix sockets, channels with tokens."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import grpc.aio
import pytest
import pytest_asyncio
from pydantic_settings import SettingsConfigDict

from classifeed_common.auth import KeyStore, Policy, write_keys
from classifeed_common.auth.policy import OPERATOR
from classifeed_common.rpc.client import open_channel
from classifeed_common.rpc.server import Servicer, build_server
from classifeed_common.settings import ServiceSettings
from classifeed_domain.policy import CALLERS, POLICY, SERVED_BY

StartServer = Callable[..., Awaitable[str]]
OpenChannel = Callable[..., grpc.aio.Channel]


def settings_for(service: str) -> ServiceSettings:
    """Return settings of a service with this name, for a test that builds a server."""

    class NamedSettings(ServiceSettings):
        model_config = SettingsConfigDict(env_prefix=f"CLASSIFEED_{service.upper()}_", frozen=True)

    return NamedSettings()


@pytest.fixture
def socket_dir() -> Iterator[Path]:
    """Yield a folder whose path is short enough for unix sockets (108 bytes), unlike tmp_path."""
    folder = Path(tempfile.mkdtemp(prefix="cf-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def keys(tmp_path: Path) -> KeyStore:
    """Return new keys of every caller and every service in the policy table."""
    folder = tmp_path / "keys"
    write_keys(folder, sorted({OPERATOR}.union(*CALLERS.values(), *SERVED_BY.values())))
    return KeyStore(folder)


@pytest_asyncio.fixture
async def rpc_server(keys: KeyStore, socket_dir: Path) -> AsyncIterator[StartServer]:
    """Start servers: `target = await rpc_server("api", Servicer.of(add_..., Implementation()), policy=None)`."""
    servers: list[grpc.aio.Server] = []

    async def start(service: str, *servicers: Servicer, policy: Policy | None = None) -> str:
        server = build_server(settings_for(service), policy or POLICY, keys=keys)
        for servicer in servicers:
            servicer.add(server)
        target = f"unix:{socket_dir}/{len(servers)}"
        server.add_insecure_port(target)
        await server.start()
        servers.append(server)
        return target

    yield start
    for server in servers:
        await server.stop(0)


@pytest_asyncio.fixture
async def rpc_channel(keys: KeyStore) -> AsyncIterator[OpenChannel]:
    """Open channels with tokens: `rpc_channel(target, caller="operator", audience="api")`; closed at the end."""
    channels: list[grpc.aio.Channel] = []

    def connect(
        target: str, *, caller: str, audience: str, signed: bool = True, default_timeout_s: float = 60.0
    ) -> grpc.aio.Channel:
        channel = open_channel(
            target,
            caller=caller,
            audience=audience,
            keys=keys if signed else None,
            default_timeout_s=default_timeout_s,
        )
        channels.append(channel)
        return channel

    yield connect
    for channel in channels:
        await channel.close()
