"""Logs: newest lines of all services by time, lines about a load, and lines as they are written."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from classifeed_cli.platform.log_files import Follower, about_task
from classifeed_cli.platform.planning.layout import Layout

NAME = "sellers/my-shop/feeds/summer/tasks/1763956803123456"


def line(second: int, event: str, **fields: Any) -> str:
    stamp = f"2026-11-23T09:00:{second:02}.123456Z"
    return json.dumps({"event": event, "level": "info", "logger": "x", "timestamp": stamp} | fields) + "\n"


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Any) -> Layout:
    made = Layout(tmp_path / "data")
    made.prepare()
    monkeypatch.setenv("CLASSIFEED_DATA", str(made.root))
    made.log("processor").write_text(
        line(1, "started") + line(3, "feed.failed", task=NAME, code="NOT_A_FEED") + "Traceback\n" + line(5, "stopped")
    )
    made.log("offers").write_text(
        line(2, "started", timestamp="2026-11-23T18:00:02.123456+09:00")
        + line(4, "offers.swept", seller_id="my-shop", namespace="summer", task_id=1763956803123456)
    )
    made.log("kafka").write_text("2026-11-23T09:00:03.000 WARN of the broker\n")
    return made


def test_lines_of_all_services_stand_in_the_order_of_time(layout: Layout, terminal: Any) -> None:
    ended = terminal("logs")
    assert [each.partition(": ")[2].split(" ")[0] for each in ended.out.splitlines() if ": " in each] == [
        "started", "started", "feed.failed", "Traceback", "offers.swept", "stopped",
    ]  # fmt: skip
    assert ended.out.startswith("2026-11-23 12:00:01.123 info    processor: started"), "by the clocks of this machine"
    assert "broker" not in ended.out
    assert "broker" in terminal("logs", "kafka").out
    assert terminal("logs", "-n", "1").out.split()[-1] == "stopped"
    unknown = terminal("logs", "nobody", "--json")
    assert (unknown.exit_code, unknown.document["error"]["reason"]) == (1, "LOG_NOT_FOUND")


def test_lines_about_a_load_are_found_however_it_is_named(layout: Layout, terminal: Any) -> None:
    found = terminal("logs", "--task", "my-shop/summer/1763956803123456", "--json").document["lines"]
    assert [(each["service"], each["event"]) for each in found] == [
        ("processor", "feed.failed"), ("offers", "offers.swept"),
    ]  # fmt: skip
    assert terminal("logs", "--task", "my-shop/summer/7").out == "No line about my-shop/summer/7.\n"
    assert terminal("logs", "--task", "7").exit_code == 2
    assert terminal("logs", "-f", "--json").exit_code == 2
    assert not about_task("s", "n", "12")("s n 123")


def test_what_is_written_meanwhile_is_shown_whole(layout: Layout) -> None:
    path = layout.log("processor")
    follower = Follower({"processor": path}, None)
    events: list[str] = []
    is_shown = threading.Event()

    def read() -> None:
        for each in follower:
            events.append(str(each.fields["event"]))
            is_shown.set()
            if each.fields["event"] == "end":
                return

    thread = threading.Thread(target=read)
    thread.start()
    whole = line(6, "first")
    with path.open("a") as file:
        file.write(whole[:20])
        file.flush()
        file.write(whole[20:])
    assert is_shown.wait(60)
    path.write_text(line(7, "end"))  # started again, as by a rotation
    thread.join(60)
    assert events == ["first", "end"]
