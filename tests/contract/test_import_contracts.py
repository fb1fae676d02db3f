"""Every module has a layer: layer contracts are exhaustive and cover every package of the workspace."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_PREFIX: Final = "importlinter:contract:"


def contracts() -> ConfigParser:
    parser = ConfigParser()
    parser.read(ROOT / ".importlinter", encoding="utf-8")
    return parser


def packages() -> set[str]:
    """Return the packages of the workspace, without generated stubs."""
    sources = [*ROOT.glob("libs/*/src"), *ROOT.glob("services/*/src"), ROOT / "cli/src"]
    return {path.parent.name for source in sources for path in source.glob("classifeed_*/__init__.py")}


def test_every_package_is_analyzed() -> None:
    assert set(contracts()["importlinter"]["root_packages"].split()) == packages()


def test_layers_within_a_package_are_exhaustive() -> None:
    parser = contracts()
    within = [parser[name] for name in parser.sections() if name.startswith(_PREFIX) and "containers" in parser[name]]
    assert [each["name"] for each in within if not each.getboolean("exhaustive", fallback=False)] == []
    assert [each["name"] for each in within if "exhaustive_ignores" in each] == []
    assert packages() - {container for each in within for container in each["containers"].split()} == set()
