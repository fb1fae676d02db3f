"""The process that writes an index: what its failure loses, and what it never loses."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_UPSERT, RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.child_processes import ChildProcesses
from classifeed_common.processes import ProcessIdentity
from classifeed_devkit.testing.recovery import until
from classifeed_searcher.engine.index import TantivyIndex
from classifeed_searcher.engine.writing.process import WriterLost, WriterProcess
from classifeed_searcher.engine.writing.writer import DocumentWriter, LockedIndex

DEADLINE_S = 60.0


def schema() -> Schema:
    made = Schema(client="offers", epoch=1)
    made.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True, analyzer="ANALYZER_RU_EN")
    made.fields.add(name="price", type="FIELD_TYPE_DOUBLE", indexed=True, stored=True)
    made.fields.add(name="seen", type="FIELD_TYPE_TIMESTAMP", indexed=True, stored=True)
    return made


def document(pk: str, *, price: float | str = 1.0) -> IndexDocument:
    made = IndexDocument(pk=pk, version=1, action=DOCUMENT_ACTION_UPSERT)
    made.fields.add(name="title").values.add(string_value="диван")
    value = made.fields.add(name="price").values.add()
    if isinstance(price, str):
        value.string_value = price
    else:
        value.double_value = price
    return made


class Written:
    """An index that is written by a separate process."""

    def __init__(self, folder: Path, limit_s: float) -> None:
        self.writer = WriterProcess(folder, schema(), limit_s=limit_s)
        self.index = TantivyIndex(folder, schema(), self.writer)

    def pid(self) -> int:
        assert self.writer.pid is not None
        return self.writer.pid


@pytest.fixture
def open_written(tmp_path: Path) -> Iterator[Callable[[float], Written]]:
    opened: list[Written] = []

    def start(limit_s: float = DEADLINE_S) -> Written:
        opened.append(Written(tmp_path / "index", limit_s))
        return opened[-1]

    yield start
    for each in opened:
        each.index.close()


@pytest.fixture
def written(open_written: Callable[[float], Written]) -> Written:
    return open_written(DEADLINE_S)


def is_alive(pid: int) -> bool:
    return ProcessIdentity.of(pid) is not None


def test_another_process_writes_and_comes_after_searches(written: Written) -> None:
    assert written.writer.pid is None, "nothing to write yet"
    assert written.index.apply([document("a"), document("b")]) == {}
    assert written.index.documents == 0
    written.index.commit()
    assert written.index.documents == 2
    assert written.pid() != os.getpid()
    assert os.getpriority(os.PRIO_PROCESS, written.pid()) == os.getpriority(os.PRIO_PROCESS, 0) + 10


def test_documents_that_do_not_fit_are_named_by_their_place(written: Written) -> None:
    many = [document(f"{number}", price="дёшево" if number in {3, 700} else 1.0) for number in range(1001)]
    many[5].fields.add(name="seen").values.add().timestamp_value.seconds = 253402300800  # the year 10000
    refused = written.index.apply(many)
    assert set(refused) == {3, 5, 700}
    assert "price" in refused[3]
    assert "Error: " in refused[5]
    assert set(written.index.add([RawDocument(pk="new", version=1, body="no JSON")])) == {0}
    written.index.commit()
    assert written.index.documents == 998


@pytest.mark.parametrize("when", ["before more is applied", "before the commit"])
def test_half_of_an_effect_is_never_committed(written: Written, when: str) -> None:
    """The naive way silently starts another process, and commits only the later documents."""
    written.index.apply([document("a")])
    written.index.commit()
    written.index.apply([document("b")])
    os.kill(written.pid(), signal.SIGKILL)
    if when == "before more is applied":
        with pytest.raises(WriterLost, match="ended"):
            written.index.apply([document("c")])
    for _ in range(2):
        with pytest.raises(WriterLost, match="ended"):
            written.index.commit()
    written.index.rollback()
    written.index.apply([document("c")])
    written.index.commit()
    assert [written.index.get(pk) is not None for pk in "abc"] == [True, False, True]


def test_rolled_back_documents_are_forgotten(written: Written) -> None:
    written.index.apply([document("a")])
    written.index.rollback()
    written.index.apply([document("b")])
    written.index.commit()
    assert [written.index.get(pk) is not None for pk in "ab"] == [False, True]


def test_process_that_stands_still_is_replaced(open_written: Callable[[float], Written]) -> None:
    written = open_written(5.0)
    written.index.apply([document("a")])
    stopped = written.pid()
    os.kill(stopped, signal.SIGSTOP)
    # More than the socket's buffer, so that even the send blocks.
    large = document("b")
    large.fields.add(name="title").values.add(string_value="диван " * 100_000)
    with pytest.raises(WriterLost, match="ended"):
        written.index.apply([large])
    assert not is_alive(stopped)
    written.index.rollback()
    written.index.apply([document("c")])
    written.index.commit()
    assert written.index.documents == 1


def test_engine_that_has_given_up_is_replaced(written: Written, tmp_path: Path) -> None:
    """A writer of the engine that has failed once fails for ever."""
    written.index.apply([document("a")])
    failed = written.pid()
    (tmp_path / "index").rename(tmp_path / "elsewhere")
    with pytest.raises(WriterLost, match="Error"):
        written.index.commit()
    assert not is_alive(failed)
    written.index.rollback()
    written.index.apply([document("b")])
    written.index.commit()
    assert written.pid() != failed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_all_processes_leave_the_last_commit_to_the_searcher(
    written: Written, number: signal.Signals
) -> None:
    written.index.apply([document("a")])
    os.kill(written.pid(), number)
    written.index.commit()
    assert written.index.documents == 1


_SEARCHER = """
import sys
from pathlib import Path
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_searcher.engine.writing.process import WriterProcess
writer = WriterProcess(Path(sys.argv[1]), Schema.FromString(bytes.fromhex(sys.argv[2])))
document = IndexDocument.FromString(bytes.fromhex(sys.argv[3]))
writer.apply([document])
writer.commit()
print(writer.pid, flush=True)
while sys.argv[4] == "writes":
    writer.apply([document] * 500)
sys.stdin.read()
"""


async def test_process_that_does_not_respond_is_named_until_it_does(tmp_path: Path) -> None:
    children = ChildProcesses(response_s=0.05)
    writer = WriterProcess(tmp_path / "index", schema(), children=children)
    try:
        writer.apply([document("a")])
        assert children.blocked() == {}
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGSTOP)
        for number in (signal.SIGCONT, signal.SIGKILL):
            call = asyncio.get_running_loop().run_in_executor(None, writer.apply, [document("b")])
            await until(lambda: bool(children.blocked()))
            [(what, why)] = children.blocked().items()
            assert what == f"index writer of offers (process {writer.pid})"
            assert "has not responded for" in why
            os.kill(writer.pid, number)
            if number == signal.SIGKILL:
                with pytest.raises(WriterLost):
                    await call
            else:
                await call
                os.kill(writer.pid, signal.SIGSTOP)
            assert children.blocked() == {}
    finally:
        writer.close()
    assert children.blocked() == {}


def test_processes_that_have_ended_are_not_watched(tmp_path: Path) -> None:
    """The kernel reuses their pids."""
    children = ChildProcesses()
    writer = WriterProcess(tmp_path / "index", schema(), children=children)
    for end in ("kill", "close"):
        writer.apply([document("a")])
        assert writer.pid is not None
        assert list(children.pids) == [writer.pid]
        if end == "kill":
            os.kill(writer.pid, signal.SIGKILL)
            with pytest.raises(WriterLost):
                writer.commit()
            writer.rollback()
        else:
            writer.close()
        assert list(children.pids) == []


@pytest.mark.parametrize("state", ["writes", "waits"])
def test_process_ends_with_its_searcher_and_the_next_one_writes(
    tmp_path: Path, open_written: Callable[[float], Written], state: str
) -> None:
    """A searcher that is killed leaves no process behind, and no lock."""
    messages = [message.SerializeToString().hex() for message in (schema(), document("a"))]
    command = [sys.executable, "-c", _SEARCHER, str(tmp_path / "index"), *messages, state]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as searcher:
        assert searcher.stdout is not None
        process = ProcessIdentity.of(int(searcher.stdout.readline()))
        assert process is not None
        searcher.kill()
    try:
        written = open_written(DEADLINE_S)
        written.index.apply([document("b")])
        written.index.commit()
        assert written.index.documents == 2
        assert process.wait_gone(DEADLINE_S)
    finally:
        process.send(signal.SIGKILL)


@pytest.mark.slow
def test_index_that_another_process_keeps_is_locked(tmp_path: Path, written: Written) -> None:
    other = DocumentWriter(tmp_path / "index", schema())
    with pytest.raises(LockedIndex, match="stop that one first"):
        written.index.apply([document("a")])
    other.close()
    written.index.apply([document("a")])
    written.index.commit()
    assert written.index.documents == 1


def test_closed_writer_starts_no_process(written: Written) -> None:
    written.index.apply([document("a")])
    pid = written.pid()
    written.index.close()
    assert not is_alive(pid)
    written.index.rollback()
    with pytest.raises(WriterLost, match="closed"):
        written.index.apply([document("a")])


def test_closing_waits_for_no_process_that_stands_still(open_written: Callable[[float], Written]) -> None:
    """It is called in the event loop, while a thread may be in a call."""
    written = open_written(3600.0)
    written.index.apply([document("a")])
    os.kill(written.pid(), signal.SIGSTOP)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(written.index.commit)
        written.index.close()
        assert isinstance(call.exception(DEADLINE_S), WriterLost)
