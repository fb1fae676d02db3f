"""A service with child processes watches them in every set of roles, and reports those that do not work (ADR 0091)."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Final

import pytest
from tests.contract.http.http_services import SERVICES, settings_of
from tools.generate.dockerfiles import list_members

from classifeed_common.child_processes import ChildProcesses
from classifeed_common.runner import ServiceRunner

ROOT: Final = Path(__file__).parents[2]
_STARTS: Final = re.compile(
    r"subprocess\.(Popen|run|check_\w+)\(|create_subprocess_\w+\(|ProcessPoolExecutor\(|multiprocessing\.Process\("
    r"|os\.(fork|posix_spawnp?|spawn\w+)\(|children\.start\("
)


def starts_processes(service: str) -> bool:
    # The library of child processes itself is in every image.
    folders = [folder for folder in list_members(service) if folder != "libs/common"]
    sources = (path for folder in folders for path in (ROOT / folder / "src").rglob("*.py"))
    return any(_STARTS.search(path.read_text("utf-8")) for path in sources)


async def test_every_service_with_child_processes_names_those_that_do_not_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChildProcesses, "blocked", lambda _: {"a child (process 1)": "the process was stopped"})
    found: dict[str, bool] = {}
    for service in filter(starts_processes, SERVICES):
        runner: ServiceRunner = importlib.import_module(f"classifeed_{service}.bootstrap").build(
            settings_of(service, tmp_path)
        )
        await runner._on_stop()
        everywhere = [role for role in runner._roles.values() if role.is_everywhere and role.blocked is not None]
        found[service] = any("a child (process 1)" in (role.blocked or dict)() for role in everywhere)
    assert [service for service, is_named in found.items() if not is_named] == []
    assert found.keys() == {"pictures", "searcher"}
