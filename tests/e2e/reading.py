"""Reads YML for comparison, without the project's parser."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Counted:
    """Contents of a file: ids in order (None for an offer without id), first lines of offers, names by id."""

    ids: list[str | None]
    lines: list[int]
    titles: dict[str, str]

    @property
    def total(self) -> int:
        return len(self.ids)

    @property
    def distinct(self) -> set[str]:
        return {each for each in self.ids if each}

    @property
    def duplicates(self) -> int:
        return sum(count - 1 for each, count in Counter(self.ids).items() if each)

    @property
    def without_id(self) -> int:
        return sum(1 for each in self.ids if not each)


def count_offers(path: Path) -> Counted:
    """Count the offers of a well-formed YML file."""
    ids: list[str | None] = []
    titles: dict[str, str] = {}
    root = ElementTree.parse(path).getroot()
    for offer in root.iter("offer"):
        external_id = offer.get("id") or None
        ids.append(external_id)
        name = (offer.findtext("name") or offer.findtext("title") or "").strip()
        if external_id and external_id not in titles:
            titles[external_id] = name
    raw = path.read_bytes()
    lines, at, line = [], 0, 1
    for found in _starts(raw):
        line += raw.count(b"\n", at, found)
        at = found
        lines.append(line)
    return Counted(ids, lines, titles)


def _starts(raw: bytes) -> list[int]:
    found, at = [], 0
    while (at := raw.find(b"<offer", at)) >= 0:
        if raw[at + 6 : at + 7] in b" >\t\r\n":
            found.append(at)
        at += 6
    return found
