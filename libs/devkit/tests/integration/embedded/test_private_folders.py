"""PostgreSQL, started by root as another user, below folders that this user may not enter."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from classifeed_devkit.embedded import postgres
from classifeed_devkit.embedded.postgres import EmbeddedPostgres, binaries
from classifeed_devkit.embedded.process import ServerError
from classifeed_devkit.testing.servers import server_folder

DAC_OVERRIDE: Final = 1
DAC_READ_SEARCH: Final = 2
PR_CAPBSET_DROP: Final = 24
PACKAGE: Final = binaries().parents[1]

# Drops capabilities, execs itself without them, and starts PostgreSQL.
SCRIPT: Final = f"""
import ctypes, json, os, sys
dropped, binaries, data = json.loads(sys.argv[1])
if dropped:
    for capability in dropped:
        assert ctypes.CDLL(None).prctl({PR_CAPBSET_DROP}, capability, 0, 0, 0) == 0
    os.execv(sys.executable, [sys.executable, "-c", sys.orig_argv[2], json.dumps([[], binaries, data])])
from pathlib import Path
from classifeed_devkit.embedded import postgres
from classifeed_devkit.embedded.process import ServerError
postgres.binaries = lambda: Path(binaries)
server = postgres.EmbeddedPostgres(Path(data), password="p", fast=True)
try:
    server.start()
    print("started")
except ServerError as error:
    print(error)
finally:
    server.stop()
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts PostgreSQL as another user")


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Return a folder of mode 0700 that contains PostgreSQL's programs and their libraries."""
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    for package in PACKAGE.parent.glob(f"{PACKAGE.name}*"):
        if not package.name.endswith(".dist-info"):
            shutil.copytree(package, folder / package.name, symlinks=True)
    return folder


def start(private: Path, *dropped: int) -> str:
    arguments: list[Any] = [dropped, str(private / binaries().relative_to(PACKAGE.parent)), str(private / "data")]
    command = [sys.executable, "-c", SCRIPT, json.dumps(arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.strip()


@pytest.mark.parametrize("dropped", [(), (DAC_READ_SEARCH,)], ids=["all-of-root", "as-in-a-container"])
def test_programs_and_data_below_a_private_folder_serve(private: Path, dropped: tuple[int, ...]) -> None:
    assert start(private, *dropped) == "started"


def test_a_root_without_capabilities_learns_which_folder_to_open(private: Path) -> None:
    closed = next(folder for folder in reversed(private.parents) if not folder.stat().st_mode & 1)
    message = start(private, DAC_OVERRIDE, DAC_READ_SEARCH)
    assert message.startswith(
        f"postgres: PostgreSQL does not run as root, and its system user cannot pass through {closed}"
    )
    assert f"`chmod o+x {closed}`" in message


def test_data_that_moved_below_a_private_folder_is_checked_too(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "find_obstacle", lambda user, path: f"user {user} cannot reach {path}")
    with server_folder("pg") as folder:
        (folder / "data").mkdir()
        (folder / "data" / "PG_VERSION").write_text("18")
        with pytest.raises(ServerError, match=r"postgres: user .* cannot reach"):
            EmbeddedPostgres(folder / "data", password="p", fast=True).prepare()


def test_a_user_without_a_name_is_refused(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedPostgres, "_user", staticmethod(lambda: None))
    monkeypatch.setattr(postgres, "find_own_obstacle", lambda: "no name for user id 5555")
    with pytest.raises(ServerError, match="postgres: no name for user id 5555"):
        EmbeddedPostgres(private / "data", password="p", fast=True).prepare()
