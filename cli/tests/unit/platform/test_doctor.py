"""Findings of `doctor` about the system user as which root starts PostgreSQL."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from classifeed_cli.platform import doctor
from classifeed_cli.platform.doctor import Finding, examine
from classifeed_cli.platform.planning.layout import Layout

CHECK = "postgres user"


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(doctor, "find_user", lambda _: (999, 999))
    monkeypatch.setattr(doctor, "find_obstacle", lambda _, __: None)


def findings(folder: Path) -> list[Finding]:
    return [finding for finding in examine(Layout(folder)) if finding.check == CHECK]


def test_a_user_that_reaches_its_files_is_named(tmp_path: Path) -> None:
    assert findings(tmp_path) == [Finding(CHECK, "ok", "pgserver")]


def test_a_folder_that_is_closed_to_the_user_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "find_obstacle", lambda _, path: f"open {path}" if path == tmp_path else None)
    assert findings(tmp_path / "new") == [Finding(CHECK, "failed", f"open {tmp_path}")]


def test_the_user_is_made_at_the_first_start_where_useradd_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "find_user", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/sbin/{name}")
    assert findings(tmp_path) == [Finding(CHECK, "ok", "pgserver is made at the first start")]
    monkeypatch.setattr(shutil, "which", lambda _: None)
    [finding] = findings(tmp_path)
    assert finding.outcome == "failed"
    assert "useradd is not installed: install it" in finding.text


def test_another_user_than_root_needs_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    row = pwd.struct_passwd(("user", "x", 1000, 1000, "", str(tmp_path), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: row)
    assert findings(tmp_path) == [Finding(CHECK, "ok", "the one that starts the suite")]

    def unknown(_: int) -> NoReturn:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    [finding] = findings(tmp_path)
    assert finding.outcome == "failed"
    assert "/etc/passwd has none for user id 1000: add a line" in finding.text
