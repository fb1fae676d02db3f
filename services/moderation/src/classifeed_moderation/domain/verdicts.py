"""Verdicts of the verdict service about a text, parsed from its JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

END: Final = "clean_web_moderation_end"
_TEXT: Final = "text"
_PEOPLE: Final = frozenset({"people", "operator"})
_NAMES_OF_PEOPLE: Final = "text_toloka_"
_EXCERPT_LIMIT_CHARS: Final = 200
_SPANS_LIMIT: Final = 20
_REVIEWERS_LIMIT: Final = 20
_NAME_LIMIT_CHARS: Final = 128
# The same limit as ApplyVerdicts has for a key.
_VERDICTS_LIMIT: Final = 100
_HALVES: Final = re.compile("[\ud800-\udfff]")

Json: TypeAlias = Mapping[str, Any]


class VerdictsInvalidError(ValueError):
    """The input is not a list of verdicts; the message names the place."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text in code points: the first one, and the one after the last."""

    start: int
    end: int
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One verdict about a text.

    Attributes:
        reviewers: people of the verdict service who have reviewed the text, as far as it names them.
    """

    name: str
    source: str = ""
    entity: str = _TEXT
    spans: tuple[Span, ...] = ()
    reviewers: tuple[str, ...] = ()

    @property
    def is_from_people(self) -> bool:
        """Whether people found it, according to its source or its name."""
        return self.source in _PEOPLE or self.name.startswith(_NAMES_OF_PEOPLE)


@dataclass(frozen=True, slots=True)
class VerdictList:
    """All verdicts of one response or callback about one key, judged together.

    Attributes:
        verdicts: verdicts to apply, sorted by name and unique.
        has_end: whether the end verdict was among them: nothing more will come.
        ignored: number of verdicts about something other than the text.
        is_ended_by_people: whether people reported that nothing more will come.
    """

    verdicts: tuple[Verdict, ...] = ()
    has_end: bool = False
    ignored: int = 0
    is_ended_by_people: bool = False

    @property
    def is_from_people(self) -> bool:
        """Whether a person has judged the text."""
        return self.is_ended_by_people or any(verdict.is_from_people for verdict in self.verdicts)

    @property
    def is_empty(self) -> bool:
        """Whether there is no verdict at all: people have the text."""
        return not self.verdicts and not self.has_end


@dataclass(slots=True)
class _Collected:
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    has_end: bool = False
    ignored: int = 0
    is_ended_by_people: bool = False


def parse_verdicts(found: object) -> VerdictList:
    """Return the verdicts of a response, regardless of their keys.

    Raises:
        VerdictsInvalidError: it is not a list of verdicts.
    """
    collected = _Collected()
    for item in _items(found):
        _collect(collected, item)
    return _verdict_list(collected)


def parse_callback(found: object) -> dict[str, VerdictList]:
    """Return the verdicts of a callback by key, in the order of the first verdict of each key.

    Raises:
        VerdictsInvalidError: it is not a list of verdicts, it is empty, a verdict has no key, or a key has too many.
    """
    by_key: dict[str, _Collected] = {}
    items = _items(found)
    if not items:
        raise VerdictsInvalidError("verdicts: empty, so that the text they are about is not known")
    for number, item in enumerate(items):
        key = item.get("key")
        if not isinstance(key, str) or not key or not _can_be_stored(key):
            raise VerdictsInvalidError(f"verdicts[{number}].key: missing, or not a text")
        collected = by_key.setdefault(key, _Collected())
        _collect(collected, item)
        if len(collected.verdicts) > _VERDICTS_LIMIT:
            raise VerdictsInvalidError(f"verdicts[{number}]: more than {_VERDICTS_LIMIT} verdicts about one key")
    return {key: _verdict_list(collected) for key, collected in by_key.items()}


def _items(found: object) -> Sequence[Json]:
    if not isinstance(found, list):
        raise VerdictsInvalidError("verdicts: missing, or not a list")
    for number, item in enumerate(found):
        if not isinstance(item, dict):
            raise VerdictsInvalidError(f"verdicts[{number}]: not an object")
        name = item.get("name")
        if not isinstance(name, str) or not 0 < len(name) <= _NAME_LIMIT_CHARS or not _can_be_stored(name):
            raise VerdictsInvalidError(
                f"verdicts[{number}].name: missing, or not a text of 1 to {_NAME_LIMIT_CHARS} letters"
            )
    return found


def _collect(collected: _Collected, item: Json) -> None:
    name, entity = item["name"], item.get("entity", _TEXT)
    if item.get("value", True) is not True:
        return
    if entity != _TEXT:
        collected.ignored += 1
    elif name == END:
        collected.has_end = True
        collected.is_ended_by_people |= _text(item.get("source")) in _PEOPLE
    elif name not in collected.verdicts:
        collected.verdicts[name] = Verdict(
            name, _text(item.get("source")), _TEXT, _spans(item.get("spans")), _reviewers(item.get("reviewers"))
        )


def _verdict_list(collected: _Collected) -> VerdictList:
    verdicts = tuple(sorted(collected.verdicts.values(), key=lambda verdict: verdict.name))
    return VerdictList(verdicts, collected.has_end, collected.ignored, collected.is_ended_by_people)


def _can_be_stored(found: str) -> bool:
    """Return whether PostgreSQL can store a text: JSON may also contain NUL and lone surrogates."""
    return "\0" not in found and not _HALVES.search(found)


def _text(found: object) -> str:
    return _HALVES.sub("", found[:_EXCERPT_LIMIT_CHARS].replace("\0", "")) if isinstance(found, str) else ""


def _spans(found: object) -> tuple[Span, ...]:
    """Return the readable spans; spans only explain a verdict, so a bad span is skipped."""
    if not isinstance(found, list):
        return ()
    spans = []
    for item in found[:_SPANS_LIMIT]:
        if isinstance(item, dict):
            start, end = item.get("start"), item.get("end")
            if type(start) is int and type(end) is int and 0 <= start < end < 1 << 31:
                spans.append(Span(start, end, _text(item.get("excerpt"))))
    return tuple(spans)


def _reviewers(found: object) -> tuple[str, ...]:
    names = found[:_REVIEWERS_LIMIT] if isinstance(found, list) else ()
    return tuple(_text(name) for name in names if isinstance(name, str))


def to_json(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return verdicts in their stored form."""
    return [
        {
            "name": verdict.name,
            "source": verdict.source,
            "entity": verdict.entity,
            "spans": [{"start": span.start, "end": span.end, "excerpt": span.excerpt} for span in verdict.spans],
            **({"reviewers": list(verdict.reviewers)} if verdict.reviewers else {}),
        }
        for verdict in verdicts
    ]


def from_json(found: Sequence[Json]) -> tuple[Verdict, ...]:
    """Return stored verdicts."""
    return tuple(
        Verdict(
            item["name"],
            item["source"],
            item["entity"],
            tuple(Span(**span) for span in item["spans"]),
            tuple(item.get("reviewers", ())),
        )
        for item in found
    )
