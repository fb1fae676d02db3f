"""Cache of findings by the hash of each module, so that only changed modules are checked again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

from tools.furniture.areas import ROOT, Finding, Module
from tools.furniture.rules import SERVICES

FILE: Final = ROOT / ".furniture_cache" / "findings.json"


def find_cached(
    modules: Iterable[Module], find: Callable[[Iterable[Module]], list[Finding]], file: Path = FILE
) -> list[Finding]:
    """Return the findings of modules, and store them for the next run. A change of a rule invalidates the cache."""
    version = _hash(
        *(path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))), *sorted(SERVICES)
    )
    known = _read(file, version)
    stored: dict[str, list[tuple[str, int, str]]] = {}
    found: list[Finding] = []
    for module in modules:
        key = _hash(str(module.path), module.text)
        if key not in known:
            known[key] = [(each.rule, each.line, each.fix) for each in find([module])]
        stored[key] = known[key]
        found += [Finding(rule, module, line, fix) for rule, line, fix in stored[key]]
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"version": version, "findings": stored}), "utf-8")
    return found


def _read(file: Path, version: str) -> dict[str, list[tuple[str, int, str]]]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content["findings"] if content["version"] == version else {}


def _hash(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()
