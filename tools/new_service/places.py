"""Entries of a service in files outside its folders; all other files are generated from these."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

Edit = Callable[[str, str, str], str]


class PlaceError(Exception):
    """An existing file has an unexpected form; the message has the file and the text that was expected."""


def _before(text: str, mark: str, addition: str) -> str:
    """Return the text with an addition before the only line that begins with `mark`."""
    found = re.findall(rf"^{re.escape(mark)}", text, re.MULTILINE)
    if len(found) != 1:
        raise PlaceError(f"{len(found)} lines begin with {mark!r}, not one")
    return re.sub(rf"^(?={re.escape(mark)})", lambda _: addition, text, flags=re.MULTILINE)


def _after_block(text: str, mark: str, end: str, addition: str) -> str:
    """Return the text with an addition before the first `end` after `mark`."""
    at = text.find(end, text.find(mark))
    if mark not in text or at < 0:
        raise PlaceError(f"there is no {end!r} after {mark!r}")
    return text[:at] + addition + text[at:]


def _table(text: str, name: str, _: str) -> str:
    row = f'[services.{name}]\npackage = "classifeed_{name}"\n\n'
    return _before(text, "# Variables for tests and operators", row)


def _policy(text: str, name: str, _: str) -> str:
    row = f'"{name}.v1.{name.title()}Service": _served(("{name}",), Methods("GetVersion", (OPERATOR,), _CLOSED)),'
    return _after_block(text, "SERVICES: Final", "\n}", f"\n    {row}")


def _suite_values(text: str, name: str, _: str) -> str:
    comment = f"Whether {name} is installed. Its other values are those of its chart."
    return f"{text.rstrip()}\n{name}:\n  # {comment}\n  enabled: true\n"


def _architecture(text: str, name: str, description: str) -> str:
    edge = "─" * (len(name) + 2)
    box = f"\n  ┌{edge}┐\n  │ {name} │  called by operators; no other service uses it yet\n  └{edge}┘"
    drawn = _after_block(text, "```", "\n```\n\n| service | owns", box)
    row = f"| [{name}](services/{name}) | nothing yet | nothing yet: {description[:1].lower()}{description[1:]} |\n"
    return _after_block(drawn, "| service | owns", "\n\n", f"\n{row.rstrip()}")


def _deployment(text: str, name: str, _: str) -> str:
    looped, loops = re.subn(
        r"^(for (?:service|chart) in api .*\bsearcher\b[^;]*?)( classifeed)?;",
        rf"\1 {name}\2;",
        text,
        flags=re.MULTILINE,
    )
    if loops != 3:
        raise PlaceError(f"{loops} loops over services, not three")
    values = f"\n{name}:\n  image: {{repository: registry.example/classifeed/{name}}}\n  networkPolicy: *servers"
    return _after_block(looped, "\nsearcher:\n", "\n```", values)


PLACES: Final[Mapping[str, Edit]] = {
    "cli/src/classifeed_cli/platform/planning/services.toml": _table,
    "libs/domain/src/classifeed_domain/policy.py": _policy,
    "helm/classifeed/values.yaml": _suite_values,
    "ARCHITECTURE.md": _architecture,
    "docs/how-to/deploy.md": _deployment,
}
"""Edits of existing files: functions from (text, name, description) to the new text."""
