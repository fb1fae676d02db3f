from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from classifeed_common.processes import ProcessIdentity
from classifeed_devkit.embedded import kafka_jars
from classifeed_devkit.embedded.kafka_jars import Jar, kafka_class_path, pinned_jars
from classifeed_devkit.embedded.process import ServerError, spawn_bound, stop_process, tail


def test_identity_is_of_one_process_only() -> None:
    me = ProcessIdentity.of(os.getpid())
    assert me is not None
    assert me.is_running()
    stranger = ProcessIdentity(os.getpid(), "1")
    assert not stranger.is_running()
    assert not stranger.send(signal.SIGKILL)  # and this process lives


def test_a_zombie_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        deadline = time.monotonic() + 90
        while ProcessIdentity.of(child.pid) is not None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert Path(f"/proc/{child.pid}").exists()


def test_output_and_a_failed_start_go_to_the_private_log(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    assert spawn_bound([sys.executable, "-c", "print('hello')"], log=log).wait() == 0
    assert tail(log) == "hello"
    assert log.stat().st_mode & 0o077 == 0
    assert spawn_bound(["/nowhere/program"], log=log).wait() != 0
    assert "cannot start /nowhere/program: No such file or directory" in tail(log)


def test_a_child_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    script = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    )
    log = tmp_path / "child.log"
    child = spawn_bound([sys.executable, "-c", script], log=log)
    deadline = time.monotonic() + 90
    while tail(log) != "up":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert stop_process(child, signal.SIGTERM, 0.2) is False
    assert child.returncode == -signal.SIGKILL


def test_every_jar_is_pinned_with_a_hash() -> None:
    jars = pinned_jars()
    assert {"kafka_2.13", "kafka-clients", "slf4j-simple"} <= {jar.artifact for jar in jars}
    assert all(len(jar.sha256) == 64 for jar in jars)
    assert len({jar.file_name for jar in jars}) == len(jars)


def test_a_jar_with_another_hash_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = Jar("org.example", "thing", "1.0", "0" * 64)
    monkeypatch.setattr(kafka_jars, "pinned_jars", lambda: (jar,))
    cached = tmp_path / "repository" / "org" / "example" / "thing" / "1.0" / "thing-1.0.jar"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"something else")
    with pytest.raises(ServerError, match=r"org\.example:thing:1\.0 has SHA-256 .* not used"):
        kafka_class_path(tmp_path)
    assert not (tmp_path / jar.file_name).exists()
    assert not cached.exists()
