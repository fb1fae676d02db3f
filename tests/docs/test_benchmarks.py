"""Each benchmark has results with a goal or a comparison, and a section with a chart on the page."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
import pytest
from tools.pages.benchmarks import SUBJECTS
from tools.pages.results import FOLDER, Result, Row, parse, rows_of, subjects

from tests.docs.pages import ROOT

_PAGE: Final = ROOT / "docs" / "benchmarks.md"
_CHARTS: Final = ROOT / "docs" / "pictures" / "benchmarks"
BENCHES: Final = sorted(path.parent.name for path in (ROOT / "bench").glob("*/__main__.py"))
_LINE: Final = {
    "row": "searches", "goal": "≥ 2000", "figure": 912, "unit": "searches/s", "compared_with": None, "ratio": None,
    "spread": None, "date": "2026-11-27", "commit": None, "machine": "2 cores, quiet", "command": "make bench-search",
    "note": None,
}  # fmt: skip
each_subject = pytest.mark.parametrize("subject", subjects())


def line(**changes: object) -> str:
    return json.dumps({**_LINE, **changes})


@pytest.mark.parametrize("bench", BENCHES)
def test_every_benchmark_has_a_goal_or_a_comparison(bench: str) -> None:
    results = [result for row in rows_of(bench) for result in row.lines]
    assert [result for result in results if result.goal or result.ratio]


@each_subject
def test_lines_are_right(subject: str) -> None:
    rows = rows_of(subject)
    assert rows
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    for row in rows:
        dates = [result.date for result in row.lines]
        assert dates == sorted(dates), f"{row.newest.row}: lines are in order of time"
        assert date(2026, 1, 1) <= dates[0] <= dates[-1] <= tomorrow
        assert len({result.unit for result in row.lines}) == 1, f"{row.newest.row}: one unit"
        assert row.newest.machine


@each_subject
def test_a_missed_goal_says_what_limits_it(subject: str) -> None:
    newest = [row.newest for row in rows_of(subject)]
    assert [each.row for each in newest if (each.reached or 1) < 1 and not each.note] == []


@each_subject
def test_commands_run_what_exists(subject: str) -> None:
    for command in {result.command for row in rows_of(subject) for result in row.lines}:
        for bench in re.findall(r"make bench-(\w+)", command):
            assert bench in BENCHES
        for module in re.findall(r"python -m (bench[\w.]*)", command):
            path = ROOT.joinpath(*module.split("."))
            assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
        for path in re.findall(r"\S+/\S+", command):
            assert (ROOT / path).exists(), path


def test_subjects_have_sections_and_charts() -> None:
    assert set(SUBJECTS) == set(subjects()) >= set(BENCHES)
    assert {path.stem for path in _CHARTS.glob("*.svg")} == set(SUBJECTS)
    headings = re.findall(r"^## (.+)$", _PAGE.read_text("utf-8"), re.MULTILINE)
    assert [heading.lower().replace(" ", "-") for heading in headings][-len(SUBJECTS) :] == list(SUBJECTS)


@each_subject
def test_a_chart_is_complete_and_narrow(subject: str) -> None:
    text = (_CHARTS / f"{subject}.svg").read_text("utf-8")
    width = re.search(r'<svg [^>]*width="([\d.]+)pt"', text)
    assert width is not None
    assert float(width[1]) * 96 / 72 <= 700
    assert "<text" in text
    assert "dc:date" not in text


@pytest.mark.parametrize(
    "changes",
    [
        {"command": None},
        {"command": ""},
        {"command": "by hand"},
        {"date": "yesterday"},
        {"figure": "912"},
        {"goal": "many"},
        {"goal": "ratio ≥ 0.5"},
        {"ratio": 0.5},
        {"more": 1},
    ],
    ids=str,
)
def test_a_wrong_line_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        parse(line(**changes))


@pytest.mark.parametrize("field", Result.__struct_fields__)
def test_a_line_without_a_field_is_refused(field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        parse(json.dumps({name: value for name, value in _LINE.items() if name != field}))


def test_goals_of_figures_and_ratios() -> None:
    assert parse(line()).reached == pytest.approx(0.456)
    assert parse(line(goal="≤ 456")).reached == pytest.approx(0.5)
    assert parse(line(goal="ratio ≥ 0.8", ratio=0.4, compared_with="another")).reached == pytest.approx(0.5)
    assert parse(line(goal=None)).reached is None
    assert Row([parse(line(figure=1)), parse(line(figure=2))]).newest.figure == 2


def test_results_are_where_benchmarks_are() -> None:
    assert FOLDER == ROOT / "bench" / "results"
    assert {path.suffix for path in Path(FOLDER).iterdir()} == {".jsonl"}
