"""Log files: no line is lost or torn while several processes write and rotate."""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path

import pytest

from classifeed_common.telemetry.log_files import RotatedFile
from classifeed_common.telemetry.log_rotation import Rotation

_WRITER = """
import logging, sys
from datetime import UTC
from pathlib import Path
from classifeed_common.telemetry.log_files import RotatedFile
from classifeed_common.telemetry.log_rotation import Rotation

file = RotatedFile(Path(sys.argv[1]), Rotation.parse("16 KB"), UTC)
for number in range(1000):
    file.handle(logging.makeLogRecord({"msg": f"{sys.argv[2]} {number} {'x' * 50}"}))
"""
Open = Callable[..., RotatedFile]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    files: list[RotatedFile] = []

    def open_file(rotation: str = "1 KB", name: str = "a.log") -> RotatedFile:
        files.append(RotatedFile(tmp_path / name, Rotation.parse(rotation), UTC))
        return files[-1]

    yield open_file
    for file in files:
        file.close()


def write(file: RotatedFile, text: str) -> None:
    file.handle(logging.makeLogRecord({"msg": text}))


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_a_full_file_is_put_aside_and_ten_are_kept(opened: Open, tmp_path: Path) -> None:
    file = opened("1 KB")
    for number in range(13):
        write(file, f"{number:02} {'x' * 600}")
    assert {path.name for path in tmp_path.iterdir()} == {"a.log", *(f"a.log.{number}" for number in range(1, 11))}
    assert lines_of(tmp_path / "a.log")[0][:2] == "12"
    assert [lines_of(tmp_path / f"a.log.{number}")[0][:2] for number in (1, 2, 10)] == ["11", "10", "02"]
    write(file, "short")
    assert len(lines_of(tmp_path / "a.log")) == 2


def test_the_first_line_of_a_day_begins_a_file_also_after_a_restart(opened: Open, tmp_path: Path) -> None:
    write(opened("midnight"), "yesterday")
    path = tmp_path / "a.log"
    day_before_s = path.stat().st_mtime - 86_400
    os.utime(path, (day_before_s, day_before_s))
    restarted = opened("midnight")
    write(restarted, "today")
    write(restarted, "still today")
    assert lines_of(tmp_path / "a.log.1") == ["yesterday"]
    assert lines_of(path) == ["today", "still today"]


def test_a_file_that_another_process_put_aside_is_not_written_on(opened: Open, tmp_path: Path) -> None:
    one, other = opened("1 MB"), opened("1 MB")
    write(one, "a")
    write(other, "b")
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    write(one, "c")
    write(other, "d")
    assert lines_of(tmp_path / "a.log.1") == ["a", "b"]
    assert lines_of(tmp_path / "a.log") == ["c", "d"]


def test_who_stands_still_while_turning_a_file_over_stops_nobody(opened: Open, tmp_path: Path) -> None:
    file = opened("1 KB")
    write(file, "x" * 900)
    with (tmp_path / "a.log").open() as paused:
        fcntl.flock(paused, fcntl.LOCK_EX)
        write(file, "y" * 900)
        assert len(lines_of(tmp_path / "a.log")) == 2
    write(file, "z")
    assert lines_of(tmp_path / "a.log") == ["z"]
    assert len(lines_of(tmp_path / "a.log.1")) == 2


def test_a_file_is_not_put_aside_twice(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = opened("1 KB"), opened("1 KB")
    write(one, "x" * 900)

    def lock_too_late(file: int, how: int) -> None:
        monkeypatch.undo()
        write(other, "y" * 900)  # rotates it at this very moment
        fcntl.flock(file, how)

    monkeypatch.setattr("classifeed_common.telemetry.log_files.fcntl.flock", lock_too_late)
    write(one, "z" * 200)
    assert [line[0] for line in lines_of(tmp_path / "a.log")] == ["y", "z"]
    assert [path.name for path in tmp_path.glob("a.log.*")] == ["a.log.1"]


def test_processes_that_share_a_file_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "shared.log"
    command = [sys.executable, "-c", _WRITER, str(path)]
    writers = [subprocess.Popen([*command, name]) for name in ("one", "two", "six")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    # 3,000 lines of 60 bytes fill eleven files and a part of the twelfth: the oldest may be gone.
    kept = [line for file in tmp_path.iterdir() for line in lines_of(file)]
    newest = {
        name: max(int(line.split()[1]) for line in kept if line.startswith(name)) for name in ("one", "two", "six")
    }
    assert newest == {"one": 999, "two": 999, "six": 999}
    for name in newest:
        numbers = sorted(int(line.split()[1]) for line in kept if line.startswith(name))
        assert numbers == list(range(numbers[0], 1000))
    assert all(line.endswith("x" * 50) for line in kept)


def test_a_file_that_cannot_be_written_is_reported_once_until_it_can_again(
    opened: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = opened(name="folder")
    (tmp_path / "folder").mkdir()
    write(file, "a")
    write(file, "b")
    shown = capsys.readouterr().err.splitlines()
    assert shown == [
        f"{tmp_path}/folder cannot be written: Is a directory. Its lines are lost until it can be written."
    ]
    (tmp_path / "folder").rmdir()
    write(file, "c")
    assert lines_of(tmp_path / "folder") == ["c"]
    assert capsys.readouterr().err == ""
