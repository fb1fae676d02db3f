"""A snapshot of rules from a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from classifeed_common.snapshot import DocumentFault, FileSource, Snapshot

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["rules"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "rules": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["verdict", "allowed"],
                "properties": {"verdict": {"type": "string"}, "allowed": {"type": "boolean"}},
            },
        },
    },
}
Rules = dict[str, bool]


def parse(document: Any) -> Rules:
    """Return the rules by verdict; a duplicate verdict is a fault that no schema can express."""
    rules: Rules = {}
    for number, rule in enumerate(document["rules"]):
        if rule["verdict"] in rules:
            raise DocumentFault(f"{rule['verdict']} has a rule already", ["rules", number, "verdict"])
        rules[rule["verdict"]] = rule["allowed"]
    return rules


def text_of(name: str = "", **rules: bool) -> str:
    """Return a file with these rules."""
    lines = [f"name: {name}"] if name else []
    return "\n".join(
        [*lines, "rules:", *(f"  - verdict: {v}\n    allowed: {str(a).lower()}" for v, a in rules.items()), ""]
    )


@dataclass
class File:
    """The file of a snapshot; every change has a different modification time."""

    path: Path
    changes: int = 0

    def write(self, text: str) -> None:
        """Write in place, as some editors do."""
        self.path.write_text(text)
        self._touch()

    def replace(self, text: str) -> None:
        """Replace the file, as a ConfigMap does."""
        other = self.path.with_name("other")
        other.write_text(text)
        other.replace(self.path)
        self._touch()

    def _touch(self) -> None:
        self.changes += 1
        os.utime(self.path, ns=(self.changes * 10**9, self.changes * 10**9))


@pytest.fixture
def file(tmp_path: Path) -> File:
    made = File(tmp_path / "rules.yaml")
    made.write(text_of("first", spam=False))
    return made


MakeSnapshot = Callable[..., Snapshot[Rules]]


def make_snapshot(path: Path, **options: Any) -> Snapshot[Rules]:
    """Return a snapshot of a file, not opened yet."""
    settings: dict[str, Any] = {"schema": SCHEMA, "parse": parse}
    return Snapshot("rules", FileSource(path), **(settings | options))


@pytest.fixture
async def snapshot(file: File) -> Snapshot[Rules]:
    made = make_snapshot(file.path)
    await made.open()
    return made
