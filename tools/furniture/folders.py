"""Folders with more than a dozen modules, where walls are missing, also among tests; unit tests mirror packages.

Folders of many modules that are better left flat are named with a reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from tools.furniture.areas import Finding, Module

MOST: Final = 12
_UNIT: Final = frozenset({"tests", "unit"})
# Folders that may have more, and why they are not taken apart; one that no longer needs it is found too.
FLAT: Final[Mapping[str, str]] = {
    "cli/src/classifeed_cli/views": "a view a module, named as what it shows; nearly all import `amounts` alone",
    "cli/tests/unit/commands": "a group of commands a module, as what they test, which is flat for that reason",
    "libs/client/src/classifeed_client": "the public surface of the client, a resource a module",
    "libs/common/src/classifeed_common/rpc": "one module too many; a package of two would hide more than it shows",
    "libs/common/src/classifeed_common/testing": "a fixture or a tool a module, which know little of each other",
    "services/pictures/src/classifeed_pictures/store": "a table or a query a module, each beside its .sql file",
    "tests/e2e": "what the whole suite goes through, a story a module; all have the one installation and its helpers",
}


def check_folders(modules: Iterable[Module], flat: Mapping[str, str] = FLAT) -> Iterator[Finding]:
    """Yield folders of code or tests with more than twelve modules, and names in `flat` that have no more than that.

    `__init__` and `__main__` do not count, nor do migrations, which are a history.
    """
    folders: defaultdict[PurePosixPath, list[Module]] = defaultdict(list)
    for module in modules:
        parts = module.path.parts
        if (module.inner or "tests" in parts) and not module.path.stem.startswith("__") and "versions" not in parts:
            folders[module.path.parent].append(module)
    for folder, within in folders.items():
        if len(within) > MOST and str(folder) not in flat:
            walls = "packages by subject" if within[0].inner else "folders named as the packages that they test"
            fix = f"{len(within)} modules in {folder}: {walls}, or a reason in tools/furniture/folders.py"
            yield Finding("folder", within[MOST], 1, fix)
        elif len(within) <= MOST and str(folder) in flat:
            yield Finding("folder", within[0], 1, f"{folder} needs no exception in tools/furniture/folders.py")


def check_mirrors(modules: Iterable[Module]) -> Iterator[Finding]:
    """Yield unit tests in a folder that is no package of what they test."""
    tests: list[Module] = []
    packages: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for module in modules:
        if module.inner:
            packages[module.area].add(module.inner[:-1])
        elif set(module.path.parts) >= _UNIT:
            tests.append(module)
    for module in tests:
        folders = module.path.parent.parts
        mirrored = folders[folders.index("unit") + 1 :]
        if mirrored not in packages[module.area] | {()}:
            yield Finding("mirror", module, 1, f"{'.'.join(mirrored)} is no package of {module.area}: the one it tests")
