"""Entries of reference pages, divided by headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from pydantic_settings import BaseSettings

from classifeed_loader.settings import Hosting

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
_HEADING = re.compile(r"(?P<marks>#{2,3}) (?P<title>.+)")


@dataclass
class Entry:
    """The text under a heading of the third level."""

    section: str
    name: str
    text: str


def entries(page: Path) -> list[Entry]:
    """Return the entries of a page in order."""
    found: list[Entry] = []
    section, entry = "", None
    for line in page.read_text("utf-8").splitlines():
        heading = _HEADING.fullmatch(line)
        if heading is None:
            if entry is not None:
                entry.text += f"{line}\n"
        elif heading["marks"] == "##":
            section, entry = heading["title"], None
        else:
            entry = Entry(section, heading["title"], "")
            found.append(entry)
    return found


def default_of(variable: str) -> object:
    """Return the default of a setting by its variable, CLASSIFEED_<SERVICE>_<NAME> or one of the job engine's."""
    if not variable.startswith("CLASSIFEED_"):
        return Hosting.model_fields[variable.lower()].default
    service, _, field = variable.removeprefix("CLASSIFEED_").lower().partition("_")
    settings: type[BaseSettings] = getattr(
        import_module(f"classifeed_{service}.settings"), f"{service.capitalize()}Settings"
    )
    return settings.model_fields[field].default
