from __future__ import annotations

import threading
from pathlib import Path

import pytest

from classifeed_cli.exit_codes import CommandError
from classifeed_cli.platform.planning.layout import Layout
from classifeed_cli.platform.planning.plan import make_plan
from classifeed_cli.platform.supervision import supervisor as supervisor_module
from classifeed_cli.platform.supervision.supervisor import Supervisor


async def test_a_start_that_takes_too_long_names_its_step_though_its_log_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(supervisor_module, "prepare_server", lambda _: released.wait(60))
    layout = Layout(tmp_path / "data")
    layout.prepare()

    def report(text: str) -> None:
        raise OSError(text)

    with pytest.raises(CommandError) as failed:
        await Supervisor(make_plan(layout, ["loader"]), report).start(0.01)
    released.set()
    assert failed.value.metadata == {"step": "starting postgres, s3"}
    assert failed.value.message == "not ready after 0.01 s, while starting postgres, s3"
