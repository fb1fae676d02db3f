"""Rules of folders: at most twelve modules in a folder, and folders of unit tests mirror packages.

Exceptions with more modules are listed with a reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from tools.furniture.areas import Finding, Module

MOST: Final = 12
_UNIT: Final = frozenset({"tests", "unit"})
# Folders that may have more modules, and the reasons. An exception that is not needed is a finding, too.
FLAT: Final[Mapping[str, str]] = {
    "cli/src/classifeed_cli/views": "one module for each view; nearly all import only `amounts`",
    "cli/tests/unit/commands": "one module for each group of commands, as in the tested package, which is flat",
    "libs/client/src/classifeed_client": "the public surface of the client, one module for each resource",
    "libs/common/src/classifeed_common/rpc": "one module too many; a package of two would hide more than it shows",
    "libs/devkit/src/classifeed_devkit/testing": "one module for each fixture or tool, mostly independent",
    "tests/e2e": "one module for each scenario of the suite; all share one installation and its helpers",
}


def check_folders(modules: Iterable[Module], flat: Mapping[str, str] = FLAT) -> Iterator[Finding]:
    """Yield folders of code or tests with more than twelve modules, and exceptions in `flat` that are not needed.

    `__init__`, `__main__` and migrations do not count.
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
    """Yield unit tests in a folder that does not mirror a package of the tested area."""
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
