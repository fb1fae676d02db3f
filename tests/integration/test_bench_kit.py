"""The report of benchmarks: tables and goals for people, one JSON line for programs."""

from __future__ import annotations

import json

import pytest
from bench.kit.report import Report, Spread, quantile, ratios
from bench.kit.running import measure_in_process, scratch, size_of


def test_report_prints_a_table_and_goals_and_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("kit", rounds=3)
    report.table("Sides", ["calls/s", "note"], {"ours": (Spread([1000.0, 3000.0, 2000.0]), "warm"), "other": (7, None)})
    report.at_least("calls/s", Spread([1000.0, 3000.0, 2000.0]), 1500)
    report.show("CPU µs", 12.3456)
    assert report.is_met
    report.at_most("ratio", ratios([3.0, 4.0], [1.0, 2.0]), 1.5, "of two rounds")
    assert report.finish() == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines == [
        "",
        "Sides",
        "                   calls/s  note",
        "ours   2,000 (1,000–3,000)  warm",
        "other                    7     –",
        f"{'calls/s':<60} {'2,000 (1,000–3,000)':<64} ≥ 1,500: met",
        f"{'CPU µs':<60} 12.3",
        f"{'ratio':<60} {'2.5 (2–3) of two rounds':<64} ≤ 1.5: MISSED",
    ]
    assert json.loads(last) == {
        "bench": "kit",
        "rounds": 3,
        "tables": {
            "Sides": {"ours": {"calls/s": [2000, 1000, 3000], "note": "warm"}, "other": {"calls/s": 7, "note": None}}
        },
        "rows": [
            {"name": "calls/s", "figures": [[2000, 1000, 3000]], "goal": "≥ 1500", "met": True},
            {"name": "CPU µs", "figures": [12.35]},
            {"name": "ratio", "figures": [[2.5, 2, 3]], "goal": "≤ 1.5", "met": False},
        ],
    }


def test_sizes_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert size_of("BENCH_KIT_SIZE", 7) == 7
    monkeypatch.setenv("BENCH_KIT_SIZE", "9")
    assert size_of("BENCH_KIT_SIZE", 7) == 9


def test_quantiles_are_those_of_the_values() -> None:
    assert quantile([float(value) for value in range(101)], 99) == 99


def test_a_folder_is_removed_and_servers_of_other_users_may_enter_it() -> None:
    with scratch() as folder:
        assert folder.stat().st_mode & 0o777 == 0o755
        (folder / "file").touch()
    assert not folder.exists()


def test_a_failed_process_is_named_with_its_error() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)bench\.feeds\.reading.*nowhere"):
        measure_in_process("bench.feeds.reading", "bare", "nowhere.yml")
