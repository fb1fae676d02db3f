"""The checks of proto/ find stale stubs and breaking changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from classifeed_devkit.testing.campaigns import in_campaigns

ROOT = Path(__file__).parents[3]
PROTO = "proto/classifeed/search/v1/search_service.proto"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a new repository with the protos, their stubs and the tools in one commit."""
    root = tmp_path / "clone"
    for part in ("proto", "libs/contracts/src", "tools"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "buf.yaml", root)
    git(root, "init", "--quiet")
    commit(root)
    return root


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--no-verify", "--message", "as it is")


def run(root: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=root,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def change(root: Path, old: str, new: str) -> None:
    text = (root / PROTO).read_text()
    assert old in text
    (root / PROTO).write_text(text.replace(old, new))


@pytest.mark.slow
@in_campaigns
def test_stubs_must_be_what_the_protos_say(clone: Path) -> None:
    assert run(clone, "tools.generate.stubs", "--check").returncode == 0
    change(clone, "int64 total = 2;", "int64 total = 7;")
    result = run(clone, "tools.generate.stubs", "--check")
    assert result.returncode == 1
    assert "libs/contracts/src/classifeed/search/v1/search_service_pb2.py: differs" in result.stdout
    assert "make stubs" in result.stdout
    assert run(clone, "tools.generate.stubs").returncode == 0
    assert run(clone, "tools.generate.stubs", "--check").returncode == 0


@pytest.mark.slow
@in_campaigns
def test_a_stub_without_a_proto_is_reported_and_removed(clone: Path) -> None:
    stray = clone / "libs/contracts/src/classifeed/search/v1/old_pb2.py"
    stray.write_text("")
    assert "old_pb2.py: no proto asks for it" in run(clone, "tools.generate.stubs", "--check").stdout
    assert run(clone, "tools.generate.stubs").returncode == 0
    assert not stray.exists()


def test_a_breaking_change_is_refused_before_and_after_its_commit(clone: Path) -> None:
    assert run(clone, "tools.checks.breaking").returncode == 0
    change(clone, "int64 total = 2;", "int64 total = 7;")
    result = run(clone, "tools.checks.breaking")
    assert result.returncode != 0
    assert '"total"' in result.stdout
    commit(clone)
    assert run(clone, "tools.checks.breaking").returncode != 0
    commit_nothing(clone)
    assert run(clone, "tools.checks.breaking").returncode == 0


def commit_nothing(root: Path) -> None:
    git(root, "commit", "--quiet", "--no-verify", "--allow-empty", "--message", "nothing")


def test_a_new_field_is_no_breaking_change(clone: Path) -> None:
    change(clone, "int64 total = 2;", "int64 total = 2;\n  // Milliseconds.\n  int64 took_ms = 9;")
    assert run(clone, "tools.checks.breaking").returncode == 0


def test_a_base_that_is_not_there_is_reported(clone: Path) -> None:
    result = run(clone, "tools.checks.breaking", "--against", "no-such-commit")
    assert (result.returncode, "no-such-commit" in result.stderr) == (1, True)
