"""Parse a rules document: expand notations, and check constraints that a schema cannot express."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from classifeed_cleanweb.automatics.alphabet import fold, spell
from classifeed_cleanweb.automatics.forms import NotationError, expand
from classifeed_common.snapshot import DocumentFault

_NOTATIONS: Final = ("allow", "messengers", "at")
Path = tuple[str | int, ...]


def parse_rules(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the lists of a document that has passed its schema, with expanded notations. The document stays unchanged.

    An entry has folded `forms`, and `spellings`, which are the forms with their accents.

    Raises:
        DocumentFault: a notation cannot be expanded, a form has no letters, or the id of a rule occurs twice; includes
            the path.
    """
    ids: dict[str, str] = {}
    return [_expanded(name, content, ids) for name, content in document["lists"].items()]


def _expanded(name: str, content: Mapping[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    path: Path = ("lists", name)
    suffixes: Mapping[str, Sequence[str]] = content.get("suffixes", {})
    made = dict(content)
    for key in _NOTATIONS:
        if content["kind"] != "links" and key in content:
            made[key] = list(_forms((*path, key), content[key], suffixes))
    entries = []
    for number, entry in enumerate(content.get("entries", [])):
        place = (*path, "entries", number)
        rule = entry["rule"]
        if rule in ids:
            raise DocumentFault(f"{rule} is a rule of the list {ids[rule]} too: give each its own id", (*place, "rule"))
        ids[rule] = name
        forms = _forms((*place, "forms"), entry["forms"], suffixes)
        entries.append({**entry, "forms": list(forms), "spellings": list(forms.values())})
    return {**made, "entries": entries}


def _forms(path: Path, notations: Sequence[str], suffixes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the folded forms of notations, each with its spelling."""
    made: dict[str, str] = {}
    for number, notation in enumerate(notations):
        try:
            forms = expand(notation, suffixes)
        except NotationError as error:
            raise DocumentFault(str(error), (*path, number)) from error
        for form in forms:
            if not fold(form):
                raise DocumentFault(f"{notation} has a form without letters", (*path, number))
            made.setdefault(fold(form), spell(form))
    return made
