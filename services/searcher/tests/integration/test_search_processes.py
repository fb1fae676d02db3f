"""Search processes: what they see, and what is lost with them."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_UPSERT
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.index_queue_service_pb2 import INDEX_QUEUE_MAIN
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed.search.v1.search_service_pb2 import SearchRequest, SearchResponse
from classifeed_common.child_processes import ChildProcesses
from classifeed_common.errors import InvalidArgument, Unavailable
from classifeed_devkit.testing.recovery import until
from classifeed_searcher import bootstrap
from classifeed_searcher.searching import pool as module
from classifeed_searcher.searching.pool import SearchProcesses
from classifeed_searcher.searching.process import SearchProcess
from classifeed_searcher.searching.wire import Reply, Request, pack
from classifeed_searcher.settings import SearcherSettings
from classifeed_searcher.store.generation import IndexGeneration
from classifeed_searcher.store.generations import Generations
from classifeed_searcher.store.live_index import LiveIndex

DEADLINE_S = 60
MEMORY_MB = 256


class Index:
    """A client's index to which documents are added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._idx = 0
        self.live = LiveIndex("offers")
        self.begin("first")

    @property
    def generation(self) -> IndexGeneration:
        assert self.live.generation is not None
        return self.live.generation

    def begin(self, name: str) -> None:
        schema = Schema(client="offers", epoch=1)
        schema.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True)
        self.live.generation = IndexGeneration.create(self._folder / name, schema)

    def replace(self, *pks: str) -> IndexGeneration:
        """Replace the current generation by one with other documents; return the former one, closed."""
        former = self.generation
        self.begin("second")
        self.put(*pks)
        former.close()
        return former

    def put(self, *pks: str, text: str = "") -> None:
        write = self.generation.open_write()
        documents = []
        for pk in pks:
            self._idx += 1
            document = IndexDocument(client="offers", epoch=1, pk=pk, version=1, action=DOCUMENT_ACTION_UPSERT)
            document.queue, document.fence, document.idx = INDEX_QUEUE_MAIN, 1, self._idx
            document.fields.add(name="title").values.add(string_value="диван")
            document.fields.add(name="text").values.add(string_value=text)
            documents.append(document)
        self.generation.apply(write, documents)
        self.generation.commit(write, {})


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[Index]:
    made = Index(tmp_path)
    made.put("a")
    yield made
    made.generation.close()


Start = Callable[[float], SearchProcesses]


@pytest.fixture
async def start(index: Index) -> AsyncIterator[Start]:
    started: list[SearchProcesses] = []

    def start(limit_s: float = DEADLINE_S) -> SearchProcesses:
        started.append(SearchProcesses({"offers": index.live}, count=1, memory_mb=MEMORY_MB, limit_s=limit_s))
        started[-1].start()
        return started[-1]

    yield start
    for each in started:
        await each.close()


async def pid_of(searches: SearchProcesses) -> int:
    await until(lambda: bool(searches.pids), DEADLINE_S)
    return searches.pids[0]


async def find(searches: SearchProcesses, index: Index, query: str = "диван", *, page_size: int = 20) -> list[str]:
    content = await searches(index.generation, SearchRequest(client="offers", query=query, page_size=page_size))
    return sorted(hit.pk for hit in SearchResponse.FromString(content).hits)


@pytest.fixture
def no_searches_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> bytes:
        raise AssertionError("searched in the service's own process")

    monkeypatch.setattr(module, "search_here", refuse)


async def test_first_search_starts_a_process_and_does_not_wait_for_it(index: Index) -> None:
    searches = SearchProcesses({"offers": index.live}, count=1, memory_mb=MEMORY_MB)
    assert await find(searches, index) == ["a"]
    assert searches.pids == []
    await pid_of(searches)
    await searches.close()


async def test_processes_are_not_kept_in_the_name_of_the_first_search(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each loss would be logged and traced with the context of a search that is long over."""
    inherited: list[dict[str, Any]] = []

    class Noting(SearchProcess):
        def __init__(self, memory_mb: int, children: ChildProcesses) -> None:
            inherited.append(structlog.contextvars.get_contextvars())
            super().__init__(memory_mb, children)

    monkeypatch.setattr(module, "SearchProcess", Noting)
    searches = SearchProcesses({"offers": index.live}, count=1, memory_mb=MEMORY_MB)
    with structlog.contextvars.bound_contextvars(request_id="r"):
        await find(searches, index)
    await pid_of(searches)
    await searches.close()
    assert inherited == [{}]


@pytest.mark.usefixtures("no_searches_here")
async def test_what_was_committed_is_found_at_once(start: Start, index: Index) -> None:
    searches = start(DEADLINE_S)
    await pid_of(searches)
    for number in range(15):
        index.put(f"b{number}")
        assert len(await find(searches, index)) == number + 2


@pytest.mark.usefixtures("no_searches_here")
async def test_another_generation_takes_the_place_of_the_former_one(start: Start, index: Index) -> None:
    searches = start(DEADLINE_S)
    pid = await pid_of(searches)
    assert await find(searches, index) == ["a"]
    former = index.replace("b")
    shutil.rmtree(former.folder)
    assert await find(searches, index) == ["b"]
    assert str(former.folder) not in Path(f"/proc/{pid}/maps").read_text(), "its space on the disk is free again"


@pytest.mark.usefixtures("no_searches_here")
async def test_replaced_files_are_let_go_although_nobody_searches(
    start: Start, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the disk keeps all files that processes have open, up to a whole index for each."""
    monkeypatch.setattr(module, "_WATCH_S", 0.02)
    searches = start(DEADLINE_S)
    pid = await pid_of(searches)
    assert await find(searches, index) == ["a"]
    former = index.replace("b")
    await until(lambda: str(former.folder) not in Path(f"/proc/{pid}/maps").read_text(), DEADLINE_S)


async def test_short_searches_are_made_here_while_they_come_one_by_one(start: Start, index: Index) -> None:
    searches = start(DEADLINE_S)
    await pid_of(searches)
    process = searches._processes[0]

    async def given(*counts: int, page_size: int = 20) -> int:
        """Return the number of searches that the process gets, for groups of concurrent searches."""
        before = process._number
        request = SearchRequest(client="offers", query="диван", page_size=page_size)
        for count in counts:
            await asyncio.gather(*(searches(index.generation, request) for _ in range(count)))
        return process._number - before

    assert await given(*[1] * 32) == 32, "nothing is known yet"
    assert await given(*[1] * 160) == 1, "few, to see whether others come meanwhile"
    assert await given(*[1] * 32, page_size=51) == 32, "what may take long never holds up the calls"
    assert await given(*[8] * 40) >= 250


@pytest.mark.usefixtures("no_searches_here")
async def test_search_in_a_process_that_is_killed_gets_its_response(start: Start, index: Index) -> None:
    searches = start(DEADLINE_S)
    pid = await pid_of(searches)
    os.kill(pid, signal.SIGSTOP)
    search = asyncio.create_task(find(searches, index))
    await until(lambda: searches._processes[0].load == 1, DEADLINE_S)
    os.kill(pid, signal.SIGKILL)
    assert await search == ["a"]
    assert await pid_of(searches) != pid


@pytest.mark.usefixtures("no_searches_here")
async def test_search_goes_to_no_process_that_has_just_ended(start: Start, index: Index) -> None:
    """It would never respond, and nothing would report it."""
    searches = start(DEADLINE_S)
    await pid_of(searches)
    searches._processes[0].connection_lost(None)
    assert await find(searches, index) == ["a"]


def refuse_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("too many processes")

    monkeypatch.setattr("classifeed_searcher.engine.child_process.subprocess.Popen", refuse)


async def test_where_no_process_starts_searches_are_made_here_and_status_names_it(
    start: Start, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, even if there was a process before."""
    searches = start(DEADLINE_S)
    pid = await pid_of(searches)
    with monkeypatch.context() as refusing:
        refuse_to_start(refusing)
        os.kill(pid, signal.SIGKILL)
        for _ in range(3):
            async with asyncio.timeout(5):
                assert await find(searches, index) == ["a"]
        assert "1 of 1 do not start: too many processes" in searches.blocked()["processes"]
    await pid_of(searches)
    assert not searches.blocked()


@pytest.mark.usefixtures("no_searches_here")
async def test_search_that_has_ended_its_process_is_not_made_here_where_no_other_starts(
    start: Start, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = start(DEADLINE_S)
    pid = await pid_of(searches)
    os.kill(pid, signal.SIGSTOP)
    search = asyncio.create_task(find(searches, index, page_size=51))
    await until(lambda: searches._processes[0].load == 1, DEADLINE_S)
    refuse_to_start(monkeypatch)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(Unavailable) as caught:
        await search
    assert caught.value.reason == "SEARCH_INTERRUPTED"


async def test_a_search_process_that_does_not_respond_is_named_until_its_search_ends(index: Index) -> None:
    children = ChildProcesses(response_s=0.05)
    searches = SearchProcesses({"offers": index.live}, count=1, memory_mb=MEMORY_MB, children=children)
    searches.start()
    try:
        pid = await pid_of(searches)
        assert children.blocked() == {}, "its start has ended"
        os.kill(pid, signal.SIGSTOP)
        search = asyncio.create_task(find(searches, index))
        await until(lambda: bool(children.blocked()))
        [(what, why)] = children.blocked().items()
        assert what == f"search process (process {pid})"
        assert "has not responded for" in why
        os.kill(pid, signal.SIGCONT)
        await search
        assert children.blocked() == {}
        os.kill(pid, signal.SIGSTOP)
        search = asyncio.create_task(find(searches, index))
        await until(lambda: bool(children.blocked()))
        os.kill(pid, signal.SIGKILL)
        await search
        await until(lambda: not children.blocked())
    finally:
        await searches.close()


async def test_status_names_stopped_processes_that_have_nothing_to_do_whatever_the_roles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index writer and the search processes are idle most of the time."""
    searches: list[SearchProcesses] = []
    generations: list[Generations] = []

    class Noted(SearchProcesses):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            searches.append(self)

    class NotedGenerations(Generations):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            generations.append(self)

    monkeypatch.setattr(bootstrap, "SearchProcesses", Noted)
    monkeypatch.setattr(bootstrap, "Generations", NotedGenerations)
    settings = SearcherSettings(
        receiver_address="127.0.0.1:1", kafka_bootstrap="127.0.0.1:1", data_dir=tmp_path, drain_notice_s=0
    )
    runner = bootstrap.build(settings)
    stop = asyncio.Event()
    running = asyncio.create_task(runner.run(stop, {"serve"}))
    searches[0].start()
    generation = generations[0].create(Schema(client="offers", epoch=1))
    try:
        await asyncio.to_thread(generation.index.apply, [IndexDocument(pk="a", action=DOCUMENT_ACTION_UPSERT)])
        assert generation.writer.pid is not None
        pids = {
            f"index writer of offers (process {generation.writer.pid})": generation.writer.pid,
            f"search process (process {(pid := await pid_of(searches[0]))})": pid,
        }

        def are_named(expected: set[str]) -> bool:
            return running.done() or set(runner.blocked.get("watch-children", {})) == expected

        for number, expected in ((signal.SIGSTOP, set(pids)), (signal.SIGCONT, set())):
            for pid in pids.values():
                os.kill(pid, number)
            await until(partial(are_named, expected), DEADLINE_S)
    finally:
        generation.close()
        stop.set()
    assert await running == 0


async def test_status_names_processes_that_do_not_start_whatever_the_roles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[SearchProcesses] = []

    class Noted(SearchProcesses):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            made.append(self)

    monkeypatch.setattr(bootstrap, "SearchProcesses", Noted)
    refuse_to_start(monkeypatch)
    settings = SearcherSettings(
        receiver_address="127.0.0.1:1", kafka_bootstrap="127.0.0.1:1", data_dir=tmp_path, drain_notice_s=0
    )
    runner = bootstrap.build(settings)
    stop = asyncio.Event()
    running = asyncio.create_task(runner.run(stop, {"serve"}))
    made[0].start()
    await until(lambda: running.done() or "processes" in runner.blocked.get("watch-searches", {}))
    stop.set()
    assert await running == 0


@pytest.mark.usefixtures("no_searches_here")
async def test_search_that_takes_too_much_memory_is_refused(start: Start, index: Index) -> None:
    """Its process has a memory limit; if only the container had one, the whole service would end."""
    for number in range(10):
        index.put(f"b{number}", text="x" * 32_000_000)
    searches = start(DEADLINE_S)
    await pid_of(searches)
    with pytest.raises(Unavailable) as caught:
        await find(searches, index, page_size=51)
    assert caught.value.reason == "SEARCH_INTERRUPTED"
    assert await find(searches, index, "title:нет") == []


@pytest.mark.usefixtures("no_searches_here")
async def test_search_that_fails_on_its_way_is_not_made_here(start: Start, index: Index) -> None:
    """It may have run out of memory, which can show in many ways."""
    searches = start(DEADLINE_S)
    pid = await pid_of(searches)
    process = searches._processes[0]
    os.kill(pid, signal.SIGSTOP)
    search = asyncio.create_task(find(searches, index, page_size=51))
    for number in (1, 2):
        await until(partial(process._waiting.__contains__, number), DEADLINE_S)
        process.data_received(pack(Reply(number, failure="EncodeError: Failed to serialize proto", has_begun=True)))
    with pytest.raises(Unavailable, match="Failed to serialize") as caught:
        await search
    assert caught.value.reason == "SEARCH_INTERRUPTED"
    os.kill(pid, signal.SIGKILL)


async def test_search_whose_caller_has_gone_is_given_up(
    start: Start, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = start(DEADLINE_S)
    pid = await pid_of(searches)
    process = searches._processes[0]
    sent: list[Request] = []
    send = process._send

    def note(request: Request) -> None:
        sent.append(request)
        send(request)

    monkeypatch.setattr(process, "_send", note)
    os.kill(pid, signal.SIGSTOP)
    search = asyncio.create_task(find(searches, index, page_size=51))
    await until(lambda: process.load == 1, DEADLINE_S)
    search.cancel()
    await asyncio.wait({search})
    assert sent[1] == sent[0]._replace(content=None)
    assert process.load == 1, "one that has begun is still watched"
    os.kill(pid, signal.SIGCONT)
    await until(lambda: process.load == 0, DEADLINE_S)


_SLEEPING = """
import time
from classifeed_searcher.app.search_index import PreparedSearch
from classifeed_searcher.searching import worker
worker.prepare_search = lambda *_: PreparedSearch(is_short=False, run=lambda: time.sleep(3600))
worker.main()
"""


def test_process_ends_with_its_service_whatever_it_searches(tmp_path: Path) -> None:
    generation = IndexGeneration.create(tmp_path / "generation", Schema(client="offers", epoch=1))
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-c", _SLEEPING, str(MEMORY_MB), str(theirs.fileno())]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()]) as process:
        theirs.close()
        try:
            assert ours.recv(1024) == pack(Reply(0))
            ours.sendall(pack(Request(1, "offers", str(generation.folder), 0, b"")))
            ours.close()
            assert process.wait(5) == 0
        finally:
            process.kill()
            generation.close()


@pytest.mark.usefixtures("no_searches_here")
async def test_search_that_ends_every_process_ends_no_service(
    start: Start, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No search hangs on a process that hangs, and no third process is tried."""
    stopped: list[int] = []

    class Stopping(SearchProcess):
        async def search(self, generation: IndexGeneration, request: SearchRequest) -> bytes:
            if len(stopped) < 2:
                stopped.append(self.pid)
                os.kill(self.pid, signal.SIGSTOP)
            return await super().search(generation, request)

    monkeypatch.setattr(module, "SearchProcess", Stopping)
    searches = start(0.5)
    await pid_of(searches)
    with pytest.raises(Unavailable) as caught:
        await find(searches, index)
    assert caught.value.reason == "SEARCH_INTERRUPTED"
    assert len(stopped) == 2
    assert await find(searches, index) == ["a"], "the next one searches"


async def test_process_that_cannot_read_the_index_leaves_the_search_to_the_service(start: Start, index: Index) -> None:
    searches = start(DEADLINE_S)
    await pid_of(searches)
    folder = index.generation.folder
    folder.rename(folder.with_name("elsewhere"))
    assert await find(searches, index) == ["a"]
    assert not folder.exists(), "it makes no index of its own"
    folder.with_name("elsewhere").rename(folder)


@pytest.mark.usefixtures("no_searches_here")
async def test_refused_request_is_refused_with_all_that_explains_it(start: Start, index: Index) -> None:
    searches = start(DEADLINE_S)
    await pid_of(searches)
    with pytest.raises(InvalidArgument) as caught:
        await find(searches, index, "price:[1")
    assert caught.value.reason == "QUERY_INVALID"
    assert caught.value.metadata["position"]
    assert [violation.field for violation in caught.value.violations] == ["query"]


@pytest.mark.usefixtures("no_searches_here")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signals_to_all_processes_leave_the_last_searches_to_the_service(
    start: Start, index: Index, number: signal.Signals
) -> None:
    searches = start(DEADLINE_S)
    pid = await pid_of(searches)
    os.kill(pid, number)
    assert await find(searches, index) == ["a"]
    await searches.close()
    assert not Path(f"/proc/{pid}").exists()
