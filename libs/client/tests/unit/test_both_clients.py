"""Both clients against one server: complete loads, lists over all pages, and the environment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
import pytest_asyncio

from classifeed.feeds.v1 import feed_service_pb2, task_pb2, task_service_pb2
from classifeed.feeds.v1.feed_service_pb2_grpc import FeedServiceServicer, add_FeedServiceServicer_to_server
from classifeed_client import Addresses, Client, DeadlineExceeded, Refused, Unreachable, aio, read_environment
from classifeed_client.environment import Addresses as ReadAddresses

TASK = "sellers/shop/feeds/default/tasks/7"


def task_at(status: str, number: int = 7) -> task_pb2.Task:
    return task_pb2.Task(
        name=f"sellers/shop/feeds/default/tasks/{number}", task_id=number, status=f"TASK_STATUS_{status}"
    )


class FeedService(FeedServiceServicer):
    """An api that creates the task late, interrupts the first watch, and then completes the task."""

    def __init__(self) -> None:
        self.received = b""
        self.requests: list[str] = []
        self.watches = 0
        self.tokens: set[str] = set()
        self.ends_as = "SUCCEEDED"

    async def UploadFeed(self, requests: AsyncIterator[Any], context: Any) -> feed_service_pb2.Upload:
        self.tokens.add(dict(context.invocation_metadata())["authorization"])
        async for request in requests:
            self.received += request.chunk
        return feed_service_pb2.Upload(name="uploads/1")

    async def GetUpload(self, request: Any, context: Any) -> feed_service_pb2.Upload:
        self.requests.append("GetUpload")
        return feed_service_pb2.Upload(name="uploads/1", task=TASK if len(self.requests) > 1 else "")

    async def WatchTask(self, request: Any, context: Any) -> AsyncIterator[task_pb2.Task]:
        self.watches += 1
        yield task_at("IN_PROGRESS")
        if self.watches == 1:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "restarting")
        yield task_at(self.ends_as)

    async def ListTasks(self, request: Any, context: Any) -> task_service_pb2.ListTasksResponse:
        if request.parent.endswith("/none"):
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no such")
        first = int(request.page_token or "0")
        token = str(first + 2) if first < 4 else ""
        return task_service_pb2.ListTasksResponse(
            tasks=[task_at("SUCCEEDED", first + n) for n in (1, 2)], next_page_token=token
        )


class Calls:
    """One client or the other, called the same way."""

    def __init__(self, address: str, kind: str) -> None:
        self._client: Any = (Client if kind == "blocking" else aio.Client)(
            Addresses(address, address, address), lambda: "secret", timeout_s=20
        )
        self._blocks = kind == "blocking"

    async def call(self, method: str, *values: Any, **named: Any) -> Any:
        called = getattr(self._client, method)
        return await (asyncio.to_thread(called, *values, **named) if self._blocks else called(*values, **named))

    async def list(self, method: str, *values: Any) -> list[Any]:
        items = getattr(self._client, method)(*values)
        return await asyncio.to_thread(list, items) if self._blocks else [item async for item in items]

    async def close(self) -> None:
        closed = self._client.close()
        if not self._blocks:
            await closed


@pytest_asyncio.fixture
async def service() -> AsyncIterator[tuple[FeedService, str]]:
    service, server = FeedService(), grpc.aio.server()
    add_FeedServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield service, f"127.0.0.1:{port}"
    await server.stop(0)


@pytest_asyncio.fixture(params=["blocking", "asyncio"])
async def calls(request: pytest.FixtureRequest, service: tuple[FeedService, str]) -> AsyncIterator[Calls]:
    made = Calls(service[1], request.param)
    yield made
    await made.close()


@pytest.mark.parametrize("ends_as", ["SUCCEEDED", "HELD"])
async def test_a_load_returns_when_it_has_ended(
    calls: Calls, service: tuple[FeedService, str], tmp_path: Path, ends_as: str
) -> None:
    """Not when the task is created, and even if the service restarts meanwhile."""
    feeds, file, seen = service[0], tmp_path / "feed.yml", list[task_pb2.Task]()
    feeds.ends_as = ends_as
    file.write_bytes(b"x" * 200_000)
    ended = await calls.call("load", file, seller_id="shop", timeout_s=30, on_change=seen.append)
    assert task_pb2.TaskStatus.Name(ended.status) == f"TASK_STATUS_{ends_as}"
    assert (feeds.received, feeds.watches, feeds.tokens) == (file.read_bytes(), 2, {"Bearer secret"})
    assert len(seen) == 3


async def test_a_load_that_does_not_end_in_time_says_so(calls: Calls, service: tuple[FeedService, str]) -> None:
    service[0].ends_as = "IN_PROGRESS"
    with pytest.raises(DeadlineExceeded) as waited:
        await calls.call("wait_for_task", TASK, timeout_s=0.7)
    assert (waited.value.reason, waited.value.metadata) == ("TASK_NOT_ENDED", {"task": TASK})


async def test_lists_go_over_all_pages(calls: Calls) -> None:
    tasks = await calls.list("iter_tasks", "sellers/shop/feeds/default")
    assert [task.task_id for task in tasks] == [1, 2, 3, 4, 5, 6]


async def test_a_refusal_is_raised_where_it_is_met(calls: Calls) -> None:
    with pytest.raises(Refused):
        await calls.list("iter_tasks", "sellers/shop/feeds/none")


async def test_a_service_that_is_not_there_is_unreachable() -> None:
    for kind in ("blocking", "asyncio"):
        calls = Calls("127.0.0.1:1", kind)
        with pytest.raises(Unreachable):
            await calls.call("get_task", TASK)
        await calls.close()


def test_one_address_and_a_token() -> None:
    addresses, token = read_environment({"CLASSIFEED_ADDRESS": "all:1", "CLASSIFEED_TOKEN": "secret"})
    assert (addresses, token()) == (ReadAddresses("all:1", "all:1", "all:1"), "secret")


def test_services_with_addresses_of_their_own_and_a_token_that_is_renewed(tmp_path: Path) -> None:
    file = tmp_path / "token"
    environ = {f"CLASSIFEED_{name}_ADDRESS": f"{name}:1" for name in ("API", "OFFERS", "SEARCHER")}
    addresses, token = read_environment({**environ, "CLASSIFEED_TOKEN_FILE": str(file)})
    assert addresses == ReadAddresses("API:1", "OFFERS:1", "SEARCHER:1")
    for renewed in ("first\n", "second\n"):
        file.write_text(renewed)
        assert token() == renewed.strip()
    file.unlink()
    with pytest.raises(Unreachable, match="CLASSIFEED_TOKEN_FILE"):
        token()


@pytest.mark.parametrize("make_client", [Client.from_environment, aio.Client.from_environment])
async def test_what_runs_in_the_data_folder(make_client: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "operator.token").write_text("secret")
    running = {
        "services": {name: {"grpc": f"{name}:1"} for name in ("api", "offers", "searcher", "loader")},
        "tokens": {"operator": str(tmp_path / "operator.token")},
    }
    (tmp_path / "run" / "supervisor.json").write_text(json.dumps(running))
    environ = {"CLASSIFEED_DATA": str(tmp_path)}
    addresses, token = read_environment(environ)
    assert (addresses, token()) == (ReadAddresses("api:1", "offers:1", "searcher:1"), "secret")
    closed = make_client(environ).close()
    if closed is not None:
        await closed


def test_nothing_is_configured(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="Set CLASSIFEED_ADDRESS") as refused:
        read_environment({"CLASSIFEED_DATA": str(tmp_path)})
    assert refused.value.reason == "NOT_CONFIGURED"
