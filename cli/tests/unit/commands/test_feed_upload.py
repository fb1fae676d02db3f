"""Uploads on a terminal: progress, outcome, and Ctrl-C."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from rich.cells import cell_len
from rich.console import Console

from classifeed.feeds.v1 import feed_pb2, feed_service_pb2, task_pb2
from classifeed_cli.views.progress import LoadProgress

Snapshot = Callable[[str, Any], None]
NAME = "sellers/my-shop/feeds/default/tasks/7"
UPLOAD = feed_service_pb2.Upload(name="uploads/1", task=NAME)
TASK = {
    "name": NAME,
    "seller_id": "my-shop",
    "namespace": "default",
    "task_id": 7,
    "kind": "TASK_KIND_LOAD",
    "file_name": "price.yml",
    "source_bytes": 14310,
    "expected_total": 33,
}
DONE: dict[str, Any] = {
    **TASK,
    "status": "TASK_STATUS_SUCCEEDED",
    "phase": "TASK_PHASE_DONE",
    "format": "yml",
    "warnings": ["The file says windows-1251 and is written in UTF-8; it was read as UTF-8, so look at the titles."],
    "statistics": {
        "total": 33, "added": 20, "updated": 5, "unchanged": 4, "removed": 1200, "made_manual": 3,
        "rejected_validation": 2, "skipped": 1, "duplicates": 1, "errors": 3, "warnings": 1, "offers_per_second": 4012,
        "issues": [
            {"level": "ISSUE_LEVEL_ERROR", "kind": "ISSUE_KIND_VALIDATION", "code": "PRICE_INVALID", "field": "price",
             "count": 2, "sample_external_ids": ["S-016", "a-very-long-id-of-an-offer-that-goes-on-and-on", "S-018"]},
            {"level": "ISSUE_LEVEL_WARNING", "kind": "ISSUE_KIND_CATEGORY", "code": "CATEGORY_UNKNOWN",
             "field": "categoryId", "count": 1, "sample_external_ids": ["G-111"]},
        ],
    },
}  # fmt: skip
FAILED = {
    **TASK,
    "status": "TASK_STATUS_FAILED",
    "phase": "TASK_PHASE_DONE",
    "error_code": "UNKNOWN_FORMAT",
    "error_message": "The file is binary data. It begins with “\x89PNG\r\x1a\x00\x07\x1b[2J\ufffd”. Export the "
    "offers in a known format. `classifeed feed formats` lists them.\nKnown formats, by NAME:\n"
    "- yml: YML (Yandex Market Language); root <yml_catalog>\n"
    "- google_rss: Google and Facebook products in RSS 2.0; root <rss> with the namespace of Google",
}


def task(row: dict[str, Any], **changes: Any) -> task_pb2.Task:
    return ParseDict({**row, **changes}, task_pb2.Task())


def running(phase: str, total: int = 0, expected: int = 0, rate: float = 0) -> task_pb2.Task:
    return task(
        TASK,
        status="TASK_STATUS_IN_PROGRESS",
        phase=f"TASK_PHASE_{phase}",
        expected_total=expected,
        statistics={"total": total, "offers_per_second": rate},
    )


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("price.yml").write_bytes(b"x" * 14310)
    return "price.yml"


def test_upload(api: Any, terminal: Any, snapshot: Snapshot, file: str) -> None:
    api.respond("UploadFeed", UPLOAD)
    api.respond("WatchTask", [running("PARSING"), running("PARSING", 10, 33, 40), running("SENT", 33, 33), task(DONE)])
    snapshot("feed-upload", terminal("feed", "upload", file, "--seller", "my-shop", "--mode", "patch", "--force"))
    spec = api.requests["UploadFeed"][0][0].spec
    assert (spec.mode, spec.force, spec.size_bytes, spec.namespace) == (2, True, 14310, "default")
    snapshot("feed-upload-json", terminal("feed", "upload", file, "--seller", "my-shop", "--json"))


def test_load_that_was_mostly_refused_says_so_and_what_stays(
    api: Any, terminal: Any, snapshot: Snapshot, file: str
) -> None:
    numbers = {**DONE["statistics"], "total": 10_001, "added": 1, "updated": 0, "unchanged": 0, "removed": 0,
               "rejected_validation": 10_000, "skipped": 0, "duplicates": 0, "made_manual": 0}  # fmt: skip
    api.respond("UploadFeed", UPLOAD)
    api.respond("WatchTask", [task(DONE, statistics=numbers, warnings=[])])
    upload = ("feed", "upload", file, "--seller", "my-shop")
    snapshot("feed-upload-mostly-refused", terminal(*upload))
    api.respond("WatchTask", [task(DONE, statistics={**numbers, "rejected_existing": 9_000}, warnings=[])])
    assert "the 9,000 of earlier loads keep their former state" in " ".join(terminal(*upload).out.split())
    assert terminal(*upload, "--fail-on-rejected=99%").exit_code == 1
    for changes, head in (
        ({"total": 0}, "SUCCEEDED, but the file has no offers"),
        ({"total": 3, "skipped": 3}, "SUCCEEDED, but none of its 3 offers was accepted"),
        ({"total": 4, "added": 2, "rejected_moderation": 2}, "SUCCEEDED"),
    ):
        api.respond("WatchTask", [task(DONE, statistics=changes)])
        assert terminal(*upload).out.splitlines()[0] == f"Task 7 of my-shop/default: {head}"


def test_file_that_is_no_feed(api: Any, terminal: Any, snapshot: Snapshot, file: str) -> None:
    api.respond("UploadFeed", UPLOAD)
    api.respond("WatchTask", [task(FAILED)])
    ended = terminal("feed", "upload", file, "--seller", "my-shop")
    snapshot("feed-upload-failed", ended)
    assert not {"\x1b", "\x07", "\x00", "\x1a"} & set(ended.out)


def test_refusals(api: Any, terminal: Any, snapshot: Snapshot, refusal: Any, file: str) -> None:
    api.respond("UploadFeed", refusal("FAILED_PRECONDITION", "NAMESPACE_HAS_FEED", "default has a feed by link."))
    ended = terminal("feed", "upload", file, "--seller", "my-shop", "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (1, "NAMESPACE_HAS_FEED")
    snapshot("feed-upload-bad-seller", terminal("feed", "upload", file, "--seller", "my shop"))
    snapshot("feed-upload-bad-namespace", terminal("feed", "upload", file, "--seller", "s", "--namespace", "Лето"))
    assert len(api.requests["UploadFeed"]) == 1


def test_full_service_gets_the_request_again_at_its_time(api: Any, terminal: Any, refusal: Any, file: str) -> None:
    full = refusal("RESOURCE_EXHAUSTED", "UPLOADS_FULL", "64 uploads are open here.", retry_after_s=0.01)
    busy = refusal("RESOURCE_EXHAUSTED", "SELLER_UPLOADS_FULL", "8 uploads are open.", retry_after_s=0.01)
    api.respond("UploadFeed", full, busy, UPLOAD)
    api.respond("WatchTask", [task(DONE)])
    upload = ("feed", "upload", file, "--seller", "my-shop")
    ended = terminal(*upload, "--timeout", "60")
    assert ended.exit_code == 0
    assert ended.err.splitlines().count("too many uploads: waiting 0 s") == 2
    tries = api.requests["UploadFeed"]
    assert len({requests[0].spec.request_id for requests in tries}) == 1, "so that none is stored twice"
    assert [sum(len(each.chunk) for each in requests) for requests in tries] == [14310] * 3
    later = refusal("RESOURCE_EXHAUSTED", "UPLOADS_FULL", "64 uploads are open here.", retry_after_s=61)
    no_room = refusal("RESOURCE_EXHAUSTED", "SPOOL_FULL", "The disk is full.", retry_after_s=0.01)
    for response in (later, no_room):
        api.respond("UploadFeed", response)
        tries.clear()
        ended = terminal(*upload, "--timeout", "60", "--json")
        assert (ended.exit_code, ended.document["error"]["reason"], len(tries)) == (1, response.reason, 1)


def test_time_that_runs_out(api: Any, terminal: Any, snapshot: Snapshot, file: str) -> None:
    api.respond("UploadFeed", UPLOAD)
    stop = threading.Event()

    def for_ever(_: Any) -> Iterator[task_pb2.Task]:
        yield running("PARSING", 1, 33)
        stop.wait(120)

    api.respond("WatchTask", for_ever)
    snapshot("feed-upload-time-out", terminal("feed", "upload", file, "--seller", "my-shop", "--timeout", "1"))
    stop.set()


def test_a_service_that_stops_is_waited_for(api: Any, terminal: Any, refusal: Any, file: str) -> None:
    api.respond("UploadFeed", UPLOAD)
    stopping = refusal("UNAVAILABLE", "DRAINING", "The service is stopping; the load continues. Watch it again.")
    api.respond("WatchTask", [running("PARSING", 10, 33)], stopping, [task(DONE)])
    ended = terminal("feed", "upload", file, "--seller", "my-shop")
    assert (ended.exit_code, len(api.requests["WatchTask"])) == (0, 3)
    stages = ended.err.splitlines()
    assert stages == ["sending price.yml", "waiting for the load", "loading", "waiting for the service"]
    assert ended.out.startswith("Task 7 of my-shop/default: SUCCEEDED\n")


def test_nothing_listens(terminal: Any, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = terminal("feed", "upload", file, "--seller", "s", "--address", "127.0.0.1:1", "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (3, "UNAVAILABLE")
    monkeypatch.delenv("CLASSIFEED_ADDRESS")
    ended = terminal("feed", "upload", file, "--seller", "s", "--data", "nowhere")
    assert (ended.exit_code, "start one with" in " ".join(ended.err.split())) == (3, True)


# Tests that run in the background may ignore SIGINT, and child processes would inherit that.
_PROGRAM = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("classifeed_cli.main", run_name="__main__")
"""


def start(api: Any, *arguments: str, **streams: Any) -> subprocess.Popen[bytes]:
    """Start the real program in a separate process."""
    environment = {**os.environ, "CLASSIFEED_ADDRESS": api.address, "CLASSIFEED_TOKEN": "t", "TERM": "xterm"}
    for name in ("COLUMNS", "LINES", "TTY_COMPATIBLE", "NO_COLOR", "FORCE_COLOR"):
        environment.pop(name, None)
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *arguments],
        env=environment,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )


def interrupted(api: Any, reached: threading.Event, *arguments: str) -> tuple[int, str, list[str]]:
    """Presses Ctrl-C once the service says so; exit code, stdout, and what was printed instead of the result."""
    process = start(api, *arguments)
    try:
        assert reached.wait(120)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    return process.returncode, out.decode(), [line for line in err.decode().splitlines() if "classifeed:" in line]


@pytest.fixture
def reached() -> threading.Event:
    return threading.Event()


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Release handlers that hold a call."""
    event = threading.Event()
    yield event
    event.set()


def test_ctrl_c_while_sending_says_that_nothing_was_stored(
    api: Any, reached: threading.Event, released: threading.Event, tmp_path: Path
) -> None:
    large = tmp_path / "large.yml"
    large.write_bytes(bytes(64 * 1024 * 1024))

    def take_a_little(requests: Iterator[Any]) -> Any:
        for _ in range(3):
            next(requests)
        reached.set()
        released.wait(120)
        return UPLOAD

    api.respond("UploadFeed", take_a_little)
    code, out, words = interrupted(api, reached, "feed", "upload", str(large), "--seller", "my-shop")
    printed = "interrupted: the file was not sent completely, so nothing was stored and no offer has changed"
    assert (code, out, words) == (130, "", [f"classifeed: {printed}"])


def test_ctrl_c_while_loading_says_that_the_load_goes_on(
    api: Any, reached: threading.Event, released: threading.Event, file: str
) -> None:
    def load(_: Any) -> Iterator[task_pb2.Task]:
        yield running("PARSING", 1, 33)
        reached.set()
        released.wait(120)

    api.respond("UploadFeed", UPLOAD)
    api.respond("WatchTask", load)
    code, out, words = interrupted(api, reached, "feed", "upload", file, "--seller", "my-shop")
    look = "classifeed task show my-shop default 7"
    printed = f"interrupted: only the waiting was stopped: load 7 continues; see {look}"
    assert (code, out, words) == (130, "", [f"classifeed: {printed}"])


def test_ctrl_c_while_fetching_says_that_the_fetch_goes_on(api: Any, reached: threading.Event) -> None:
    fetch = feed_pb2.Fetch(
        name="sellers/my-shop/feeds/default/fetches/4", seller_id="my-shop", namespace="default", fetch_id=4,
        outcome=feed_pb2.FETCH_OUTCOME_RUNNING,
    )  # fmt: skip

    def look(_: Any) -> feed_pb2.Fetch:
        reached.set()
        return fetch

    api.respond("RunFeed", fetch)
    api.respond("GetFetch", look)
    code, out, words = interrupted(api, reached, "feed", "run", "--seller", "my-shop", "--json")
    assert (code, words) == (130, [])
    assert '"reason": "INTERRUPTED"' in out
    assert "fetch 4 continues; see classifeed feed fetches --seller my-shop --namespace default" in out


def test_ctrl_c_ends_a_call_without_a_response(api: Any, reached: threading.Event, released: threading.Event) -> None:
    def hang(_: Any) -> feed_pb2.Feed:
        reached.set()
        released.wait(120)
        return feed_pb2.Feed()

    api.respond("GetFeed", hang)
    assert interrupted(api, reached, "feed", "show", "--seller", "my-shop") == (130, "", [])


def test_bar_has_count_rate_and_time_left_and_stays_on_stderr(api: Any, file: str) -> None:
    api.respond("UploadFeed", UPLOAD)
    stages = [
        running("UNSPECIFIED"),
        running("PARSING"),
        running("PARSING", 9_999_999, 12_345_678, 4123.4),
        running("SENT", 12_345_678, 12_345_678, 4123.4),
        task(DONE),
    ]
    api.respond("WatchTask", stages)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with start(api, "feed", "upload", file, "--seller", "my-shop", stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 4096):
                seen += piece
        except OSError:  # how a terminal ends on Linux
            pass
        assert process.stdout is not None
        out = process.stdout.read().decode()
        assert process.wait(120) == 0
    os.close(ours)
    frames = [frame for frame in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode()).split("\r") if frame.strip()]
    assert all(cell_len(frame) <= 80 for frame in frames), frames
    assert all("\n" not in frame.strip("\n") for frame in frames)
    words = [" ".join(re.sub("[━╸╺]+", "|", frame).split()) for frame in frames]
    for expected in (
        "sending price.yml | 0 bytes of 14 KiB",
        "load 7 is queued |",
        "checking the file |",
        "loading | 9,999,999 of 12,345,678 offers",
        "finishing | 12,345,678 of 12,345,678 offers",
    ):
        assert any(re.sub(r"\| \|", "|", each) == expected for each in words), (expected, words)
    assert out.startswith("Task 7 of my-shop/default: SUCCEEDED\n")
    assert "━" not in out
    assert seen.rstrip().endswith(b"\x1b[2K"), "the bar is wiped at the end"


def test_rate_is_that_of_the_whole_load_so_far_and_not_of_a_burst() -> None:
    now = 100.0
    screen = io.StringIO()
    errors = Console(file=screen, force_terminal=True, force_interactive=True, width=80)
    with LoadProgress(SimpleNamespace(errors=errors), lambda: now) as progress:  # type: ignore[arg-type]
        for seconds, total in ((0.0, 0), (0.1, 4_000), (2.0, 8_000)):
            now = 100.0 + seconds
            progress.task(running("PARSING", total, 20_000, rate=99_999))
    shown = [" ".join(re.sub("[━╸╺]+", "|", line).split()) for line in plain(screen.getvalue()).split("\r")]
    assert any(line.endswith("8,000 of 20,000 offers 4,000/s 0:03 left") for line in shown), shown
    assert "99,999/s" not in "\n".join(shown)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
