"""Every path and module in the documents exists; a word in capitals is a placeholder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.test_commands import PAGES

_CODE = re.compile(r"^[ \t]*```[a-z]*\n(.*?)^[ \t]*```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
_TOP = "|".join(sorted(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")))
_PATH = re.compile(rf"(?<![\w./:-])(?:{_TOP})/[\w./-]*[\w/]")
_MODULE = re.compile(r"python -m ((?:tools|bench|services|tests)[\w.]*)")
_ANY_NAME = re.compile(r"(?<![A-Za-z])[A-Z]{4,}(?![A-Za-z])")
# Files in capitals that are not placeholders.
_NAMED = frozenset({"README", "ROADMAP", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"})
# The roadmap has paths that do not exist yet.
_OF_TODAY = [page for page in PAGES if page.name != "ROADMAP.md"]
each_page = pytest.mark.parametrize("page", _OF_TODAY, ids=lambda page: page.relative_to(ROOT).as_posix())
FOR_DEVELOPERS = {"add-a-feed-format.md", "add-a-job.md", "add-an-rpc.md", "add-a-migration.md", "add-a-service.md"}


def code_of(page: Path) -> str:
    """Return the code spans and blocks of a page, one per line."""
    return "\n".join(block or span for block, span in _CODE.findall(page.read_text("utf-8")))


def paths_in(page: Path) -> set[str]:
    """Return the paths in a page, relative to the root of the repository."""
    return set(_PATH.findall(code_of(page)))


def exists(path: str) -> bool:
    """Return whether a path exists; a word in capitals matches any name, as `NAME` in `services/NAME/README.md`."""
    pattern = _ANY_NAME.sub(lambda word: word[0] if word[0] in _NAMED else "*", path).rstrip("/")
    return any(ROOT.glob(pattern))


@each_page
def test_paths_exist(page: Path) -> None:
    assert sorted(path for path in paths_in(page) if not exists(path)) == []


@each_page
def test_modules_that_are_run_exist(page: Path) -> None:
    for module in _MODULE.findall(code_of(page)):
        path = ROOT.joinpath(*module.split("."))
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


def test_guides_for_developers_name_their_files() -> None:
    named = {page.name: len(paths_in(page)) for page in PAGES if page.name in FOR_DEVELOPERS}
    assert set(named) == FOR_DEVELOPERS
    assert min(named.values()) >= 8
