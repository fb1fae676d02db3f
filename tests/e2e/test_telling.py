"""What the services tell of a load by themselves: lines of their logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.generated_feed import write_feed

from tests.e2e.suite import Suite

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]
_ENUMS = ("status", "outcome", "kind", "phase", "decision", "mode", "disposition")


def lines_of(suite: Suite, *options: str) -> list[dict[str, Any]]:
    """The lines of all services that are JSON."""
    answer = suite.run("logs", "-n", "10000", *options)
    assert answer.exit_code == 0, answer.document
    return [line for line in answer.document["lines"] if "timestamp" in line]


def test_a_load_is_told_when_it_begins_and_when_it_ends(suite: Suite, seller: str, tmp_path: Path) -> None:
    path = tmp_path / "feed.xml"
    write_feed(path, 30)
    task = suite.upload(path, seller).document
    lines = lines_of(suite, "--task", f"{seller}/{task['namespace']}/{task['task_id']}")
    assert {line["timestamp"][-1] for line in lines_of(suite)} == {"Z"}, "although TIMEZONE is that of Tokyo"
    [started, ended] = [line for line in lines if line["event"] in {"feeds.load.started", "feeds.load.ended"}]
    assert (started["event"], started["source"], started["kind"]) == ("feeds.load.started", "upload", "load")
    assert started["bytes"] == path.stat().st_size
    assert (ended["status"], ended["total"], ended["added"], ended["rejected"]) == ("succeeded", 30, 30, 0)
    assert ended["duration_s"] > 0
    numbers = [(line["event"], name) for line in lines for name in _ENUMS if isinstance(line.get(name), int)]
    assert numbers == []
