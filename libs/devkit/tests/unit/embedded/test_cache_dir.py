"""The folder of fetched files, with and without a writable home."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from classifeed_devkit.embedded.kafka_jars import CACHE_VARIABLE, cache_dir


@pytest.fixture(autouse=True)
def no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


def test_it_is_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "new home"))
    assert cache_dir() == tmp_path / "new home" / ".cache" / "classifeed"


def test_it_is_in_the_python_environment_when_the_home_is_read_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def access(path: Path, mode: int) -> bool:
        assert mode == os.W_OK
        return not Path(path).is_relative_to(tmp_path)

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "access", access)
    assert cache_dir() == Path(sys.prefix) / "cache"


def test_it_is_in_the_python_environment_when_the_user_has_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> NoReturn:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert cache_dir() == Path(sys.prefix) / "cache"


@pytest.mark.parametrize(("name", "rest"), [(CACHE_VARIABLE, ()), ("XDG_CACHE_HOME", ("classifeed",))])
def test_a_chosen_folder_counts_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, rest: tuple[Any, ...]
) -> None:
    monkeypatch.setenv(name, str(tmp_path))
    assert cache_dir() == tmp_path.joinpath(*rest)
