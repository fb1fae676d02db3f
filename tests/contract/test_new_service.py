"""A service from `tools.new_service` passes the linters and the tests of all services, in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.new_service.places import PLACES

from classifeed_devkit.testing.campaigns import in_campaigns

ROOT = Path(__file__).resolve().parents[2]
NAME = "echo"
_DERIVED = {
    ".importlinter",
    "docs/pictures/suite.svg",
    "helm/classifeed/Chart.yaml",
    "helm/classifeed/README.md",
    "libs/contracts/src/classifeed/comments.json",
}
_TESTS = (
    f"services/{NAME}",
    "tests/docs/test_architecture.py",
    "tests/docs/test_pictures.py",
    "tests/docs/test_readme.py",
    "tests/charts/test_images.py",
    "tests/contract/test_import_contracts.py",
    "tests/docs/test_paths.py",
    "cli/tests/unit/platform/test_platform.py",
)
# These files have tests of every service. Tests of existing services run in this tree, not in the copy.
_TESTS_OF_EACH = (
    "tests/charts/test_callers.py",
    "tests/charts/test_charts.py",
    "tests/charts/test_deploy.py",
    "tests/contract/http/test_http_routes.py",
    # This test runs the installed `classifeed`, which knows the services of this tree only.
    "--deselect=tests/charts/test_deploy.py::test_pods_find_each_secret_that_they_look_for",
)


class Copy:
    """A copy of the tree, whose packages take precedence over installed ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
            if name and (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        if (ROOT / ".mypy_cache").is_dir():  # the cache of `make lint` is valid for the copy
            shutil.copytree(ROOT / ".mypy_cache", folder / ".mypy_cache")
        # Go programs for the tests of charts are built once, in this tree.
        (ROOT / ".venv/gobin").mkdir(parents=True, exist_ok=True)
        (folder / ".venv").mkdir()
        (folder / ".venv/gobin").symlink_to(ROOT / ".venv/gobin")
        self.run("git", "init", "--quiet")
        self.run("git", "add", "--all")

    def run(self, *command: str) -> str:
        """Run a command in the copy; return its output."""
        sources = [
            str(path) for pattern in ("libs/*/src", "services/*/src", "cli/src") for path in self.folder.glob(pattern)
        ]
        scripts = Path(sys.executable).parent
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*sources, str(self.folder)]),
            "MYPYPATH": os.pathsep.join(sources),
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
        }
        environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_XDIST")}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
        return done.stdout

    def make(self, target: str, *variables: str) -> str:
        """Make a target in the copy with the environment of this tree, which is not updated."""
        return self.run("make", f"VENV={sys.prefix}", f"--assume-old={sys.prefix}/.ready", target, *variables)

    def python(self, *arguments: str) -> str:
        """Run a module or a script of the copy."""
        return self.run(sys.executable, *arguments)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    made = Copy(tmp_path_factory.mktemp("copy") / "tree")
    made.python("-m", "tools.new_service", NAME)
    made.run("git", "add", "--all")
    return made


@pytest.mark.slow
@pytest.mark.timeout(900)
@in_campaigns
def test_make_lint_finds_nothing(copy: Copy) -> None:
    # Only types of added and changed files; `make lint` checks the rest in this tree.
    typed = [f"services/{NAME}/src", f"services/{NAME}/tests", *(path for path in PLACES if path.endswith(".py"))]
    assert "no issues found" in copy.make("lint", f"TYPED={' '.join(typed)}")


@pytest.mark.slow
@pytest.mark.timeout(900)
@in_campaigns
def test_its_tests_and_those_of_all_services_pass(copy: Copy) -> None:
    output = copy.make("test", f"PYTEST_WORKERS=-n 0 {' '.join(_TESTS)}")
    assert f"services/{NAME}" in output
    assert " passed" in copy.python("-m", "pytest", "-n", "0", *_TESTS_OF_EACH)


def test_its_readme_names_every_place_outside_its_folder(copy: Copy) -> None:
    readme = (copy.folder / f"services/{NAME}/README.md").read_text("utf-8")
    rows = re.findall(r"^\| `(.*)` \|", readme.partition("\n## Places outside")[2], re.MULTILINE)
    assert sorted(rows) == sorted(PLACES)
    assert len(rows) <= 5
    assert set(_changed(copy)) <= set(PLACES) | _DERIVED


def test_nothing_is_written_over_what_is_there(copy: Copy) -> None:
    with pytest.raises(AssertionError, match=f"files exist: .*services/{NAME}/README.md"):
        copy.python("-m", "tools.new_service", NAME, "Again")
    with pytest.raises(AssertionError, match="the name has 3 to 20 letters"):
        copy.python("-m", "tools.new_service", "two-words", "Does it")


def _changed(copy: Copy) -> list[str]:
    """Return the files outside the new service's folders that differ from this tree."""
    own = (f"services/{NAME}/", f"helm/{NAME}/", f"proto/classifeed/{NAME}/", f"libs/contracts/src/classifeed/{NAME}/")
    names = [name for name in copy.run("git", "ls-files").split("\n") if name and not name.startswith(own)]
    return [name for name in names if (copy.folder / name).read_bytes() != (ROOT / name).read_bytes()]
