"""Output on a terminal, and output for programs."""

from __future__ import annotations

import pytest

from classifeed.feeds.v1 import feed_pb2, task_pb2
from classifeed_cli.messages import document_of
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.wrapping import printable


def test_what_a_terminal_would_obey_is_escaped() -> None:
    assert printable("a\x1b[31mb\x9bc\u202ed\te\nf") == "a\\u001b[31mb\\u009bc\\u202ed\\u0009e\nf"
    assert printable("Стол «Осло» 👨\u200d👩 140 × 190") == "Стол «Осло» 👨\u200d👩 140 × 190"


def test_programs_get_one_document_and_no_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(as_json=True)
    out.say("for people")
    out.table(("a",), [("b",)])
    out.document({"a": 1})
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ('{\n  "a": 1\n}\n', "")


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("COLUMNS", "TTY_COMPATIBLE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize("columns", [None, "", "0", "wide"])
def test_a_pipe_gets_every_character_of_a_row(
    capsys: pytest.CaptureFixture[str], pipe: pytest.MonkeyPatch, columns: str | None
) -> None:
    if columns is not None:
        pipe.setenv("COLUMNS", columns)
    out = Output(as_json=False)
    out.table(("title",), [("х" * 300,)])
    out.entries(("id", "title"), [((1, "х" * 301), ["ж" * 302])])
    out.say("ъ " * 150)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["title", "х" * 300, "id  title", "1   " + "х" * 301, "ж" * 302, ("ъ " * 150).strip()]


def test_a_pipe_ends_its_lines_where_columns_says(capsys: pytest.CaptureFixture[str], pipe: pytest.MonkeyPatch) -> None:
    pipe.setenv("COLUMNS", "40")
    out = Output(as_json=False)
    assert out.edge == 40
    out.table(("id", "title"), [("1", "х" * 300)])
    out.entries(("id", "title"), [((1, "х" * 300), ["слово " * 20])])
    out.say("слово " * 20)
    out.fail("слово " * 20)
    captured = capsys.readouterr()
    assert max(map(len, (captured.out + captured.err).splitlines())) == 40
    assert (captured.out + captured.err).count("слово") == 60


def test_lines_below_an_entry_stand_under_its_second_column(
    capsys: pytest.CaptureFixture[str], pipe: pytest.MonkeyPatch
) -> None:
    Output(as_json=False).entries(("task", "file"), [((7, None), ["", "a\nb"]), ((123456, "f"), [])])
    assert capsys.readouterr().out == "task    file\n7\n        a b\n123456  f\n"
    Output(as_json=True).entries(("task",), [((7,), ["b"])])
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("variables", "is_painted"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_gets_colour_unless_it_says_no(
    capsys: pytest.CaptureFixture[str], pipe: pytest.MonkeyPatch, variables: dict[str, str], is_painted: bool
) -> None:
    for name, value in {"TTY_COMPATIBLE": "1", "TERM": "xterm", "COLUMNS": "80", **variables}.items():
        pipe.setenv(name, value)
    out = Output(as_json=False)
    out.say("Task 7: SUCCEEDED\nTask 8: FAILED\nkafka NOT_SERVING\n(error PRICE_INVALID) `classifeed status`\n  │ ^^")
    out.say("   28  added\n    2  rejected: errors in the file\n> kill -9 1")
    out.say("1. A headline that SUCCEEDED", style="bold")
    out.table(("name", "state"), [("kafka", "RUNNING")])
    out.entries(("name", "state"), [(("kafka", "HELD"), [])])
    shown = capsys.readouterr().out
    painted = {
        "32": ["SUCCEEDED", "RUNNING", "added"],
        "31": ["FAILED", "NOT_SERVING", "error PRICE_INVALID", "^^", "rejected"],
        "33": ["HELD"], "36": ["classifeed status", "> kill -9 1"],
    }  # fmt: skip
    for colour, words in painted.items():
        for word in words:
            assert (f"\x1b[{colour}m{word}\x1b[0m" in shown) == is_painted, word
    assert ("\x1b[3" in shown) == is_painted
    assert "\x1b[1m1. A headline that SUCCEEDED\x1b[0m" in shown


def test_a_pipe_gets_no_colour(capsys: pytest.CaptureFixture[str], pipe: pytest.MonkeyPatch) -> None:
    Output(as_json=False).say("Task 7: SUCCEEDED `classifeed status`")
    assert capsys.readouterr().out == "Task 7: SUCCEEDED `classifeed status`\n"


def test_messages_become_json_as_documented() -> None:
    task = task_pb2.Task(task_id=7, status="TASK_STATUS_SUCCEEDED", mode="LOAD_MODE_PATCH")
    task.statistics.issues.add(level="ISSUE_LEVEL_ERROR", kind="ISSUE_KIND_DUPLICATE", count=2)
    document = document_of(task)
    assert (document["task_id"], document["status"], document["mode"]) == ("7", "SUCCEEDED", "PATCH")
    assert document["statistics"]["issues"][0]["level"] == "ERROR"
    assert document["statistics"]["issues"][0]["kind"] == "DUPLICATE"
    assert document["kind"] == "UNSPECIFIED"
    assert document["source_bytes"] == "0"


def test_maps_and_durations_become_json() -> None:
    settings = feed_pb2.FeedSettings(schedule={"interval": {"seconds": 90}})
    settings.source.credentials.headers["X-Key"] = "1"
    document = document_of(settings)
    assert document["source"]["credentials"]["headers"] == {"X-Key": "1"}
    assert document["schedule"]["interval"] == "90s"


def test_colons_of_a_text_are_no_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=False).say("add user:x:5555:5555::/:/bin/sh")
    assert "user:x:5555:5555::/:/bin/sh" in capsys.readouterr().out
