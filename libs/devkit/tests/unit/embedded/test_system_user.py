"""The system user of servers started by root, created by several processes at once."""

from __future__ import annotations

import pwd
import subprocess
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from classifeed_devkit.embedded.process import ServerError
from classifeed_devkit.embedded.system_user import system_user

STARTERS = 4


class Accounts:
    """The content of /etc/passwd, with `useradd`'s race: a concurrent second run replaces the user."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.uids: dict[str, int] = {}
        self.free = deque(range(999, 900, -1))
        self._all_look = threading.Barrier(STARTERS)
        self._all_make = threading.Barrier(STARTERS)
        self._has_read = threading.local()
        monkeypatch.setattr(pwd, "getpwnam", self.getpwnam)
        monkeypatch.setattr(subprocess, "run", self.useradd)

    def getpwnam(self, name: str) -> Any:
        found = self.uids.get(name)
        if not getattr(self._has_read, "done", False):
            self._has_read.done = True
            self._all_look.wait(10)  # all processes have seen that the user is missing
        if found is None:
            raise KeyError(name)
        return SimpleNamespace(pw_uid=found, pw_gid=found)

    def useradd(self, command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        with suppress(threading.BrokenBarrierError):
            self._all_make.wait(0.5)  # concurrent runs have looked for the name, too
        self.uids[command[-1]] = self.free.popleft()
        return subprocess.CompletedProcess(command, 0, "", "")


def test_starts_at_once_make_one_user(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = Accounts(monkeypatch)
    with ThreadPoolExecutor(STARTERS) as pool:
        found = list(pool.map(lambda _: system_user("server"), range(STARTERS)))
    assert found == [(999, 999)] * STARTERS
    assert accounts.uids == {"server": 999}


def test_what_useradd_says_is_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "useradd: cannot lock /etc/passwd\n")

    monkeypatch.setattr(subprocess, "run", refused)
    with pytest.raises(ServerError, match="cannot lock /etc/passwd"):
        system_user("classifeed-nobody")
