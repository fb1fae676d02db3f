"""The demo on a running suite prints what the recording in docs/pictures shows, and counts right after its kill."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.pictures import RECORDING
from tools.pictures.recording import COLUMNS, shape_of

from classifeed_cli.commands.demo import play
from classifeed_cli.commands.demo.story import Story
from classifeed_cli.platform.installation import Installation
from classifeed_cli.platform.layout import Layout
from classifeed_cli.terminal.output import Output
from tests.e2e.suite import Suite

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def test_demo_prints_what_the_recording_shows(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    installation = Installation.find(suite.data)
    with installation.client() as client:
        document = play(Story(client, Output(as_json=False), installation, Layout(suite.data), tmp_path))
    assert shape_of(capsys.readouterr().out) == shape_of(RECORDING.read_text("utf-8")), "make pictures"
    assert set(document["counts"].values()) == {20_000}
    assert 0 < document["kill"]["answered_before"] < 20_000
    assert document["kill"]["pid"] != document["kill"]["pid_after"]
