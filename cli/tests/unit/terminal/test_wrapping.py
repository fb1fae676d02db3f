"""Wrapped lines for a terminal, and amounts for people."""

from __future__ import annotations

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from classifeed_cli.durations import parse_duration
from classifeed_cli.terminal.wrapping import cut, one_line, printable, with_short_links, wrapped
from classifeed_cli.views.amounts import duration_words, size_words


def test_lines_end_at_the_edge_and_hang() -> None:
    assert wrapped("  ab  cd efgh", 8, 4) == ["  ab  cd", "    efgh"]
    assert wrapped("ab S-001-x", 8, 2) == ["ab", "  S-001-", "  x"]
    assert wrapped("see https://shop.example/a", 30, 9) == ["see https://shop.example/a"]
    assert wrapped("please see https://shop.example/a", 30, 6) == ["please see", "      https://shop.example/a"]
    assert wrapped("please see https://shop.example/a", 30, 20) == ["please see", "        https://shop.example/a"]
    assert wrapped("see https://shop.example/a", 10, 2) == ["see", "https://shop.example/a"]
    assert wrapped("at /opt/java/bin/java there", 14, 2) == ["at /opt/java/", "  bin/java", "  there"]
    assert wrapped("日本語 日本語", 8, 0) == ["日本語", "日本語"]


@given(st.text("ab é日-/", max_size=80), st.integers(12, 40), st.integers(0, 8))
def test_nothing_is_lost_and_nothing_is_too_wide(text: str, width: int, hang: int) -> None:
    lines = wrapped(text, width, hang)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(line) <= width for line in lines[1:])


def test_what_cannot_be_printed_is_escaped() -> None:
    assert one_line("a\n\t b\x00\ud800\ue000\u2028c") == "a b\\u0000\\ud800\\ue000 c"
    assert printable("\x1b[2J\nа́") == "\\u001b[2J\nа́"
    assert printable("\U0010ffff") == "\\U0010ffff"


def test_long_links_lose_their_middle() -> None:
    link = "https://shop.example/export/of/2026/price.yml"
    assert with_short_links(f"It is {link} now.", 60) == f"It is {link} now."
    short = with_short_links(f"It is {link} now.", 30)
    assert short == "It is https://shop.example…price.yml now."
    assert cell_len(short.split(" ")[2]) <= 30


def test_cut_counts_cells() -> None:
    assert cut("short", 5) == "short"
    assert cut("日本語テキスト", 8) == "日本語…"


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("10m", 600),
        ("1h", 3600),
        ("1d", 86400),
        ("90s", 90),
        ("90", 90),
        ("1h30m", 5400),
        ("1 H 30 M", 5400),
        ("0.5", 0.5),
    ],
)  # fmt: skip
def test_durations(typed: str, seconds: float) -> None:
    assert parse_duration(typed) == seconds


@pytest.mark.parametrize("typed", ["", "h", "10x", "-5m", "0", "30m1h", "10m10m", "1h30", "400d", "1e3", "１h5"])
def test_slips_of_durations_say_how_to_write_them(typed: str) -> None:
    with pytest.raises(typer.BadParameter, match="write it as 90s, 10m, 1h, 1h30m or 1d"):
        parse_duration(typed)


def test_amounts_as_people_write_them() -> None:
    seconds = (0.004, 0.9996, 4.2, 9.96, 90, 3600, 5400, 2 * 86400 + 5 * 3600 + 59, 86400 + 60)
    assert [duration_words(each) for each in seconds] == [
        "4 ms", "1.0 s", "4.2 s", "10 s", "1 min 30 s", "1 h", "1 h 30 min", "2 d 5 h", "1 d",
    ]  # fmt: skip
    assert [size_words(each) for each in (0, 1023, 1024, 14310, 2**20 - 1, 5 * 2**30)] == [
        "0 bytes", "1023 bytes", "1.0 KiB", "14 KiB", "1.0 MiB", "5.0 GiB",
    ]  # fmt: skip
