"""Collect the issues of an offer, with their positions in the file."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import NamedTuple

from classifeed.feeds.v1.load_pb2 import IssueParameter
from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed_feeds.diagnosis.child_offsets import LineColumn, child_places, places_in
from classifeed_feeds.error_codes import ISSUES
from classifeed_feeds.mapping.field_names import FieldNames
from classifeed_feeds.mapping.values import space_within
from classifeed_feeds.scanning.elements import FeedElement, FeedOffer, LocatedOffer
from classifeed_feeds.source.window import SourceWindow

MAX_ISSUES = 20
EXCERPT_CHARS = 200
_VALUE_CHARS = 200
_LINK_CODES = frozenset({"URL_INVALID", "PICTURE_URL_INVALID", "LINK_ESCAPED"})


class _Found:
    """An issue without its position; the positions of all issues of an offer are found in one pass."""

    __slots__ = ("code", "count", "details", "element", "field", "value")

    def __init__(
        self, code: str, field: str, element: FeedElement | None, value: str, details: dict[str, object]
    ) -> None:
        self.code = code
        self.field = field
        self.element = element
        self.value = value
        self.details = details
        self.count = 1


class _Place(NamedTuple):
    """Position of an issue: line and column from 1, the path from the offer on, and the beginning of the source."""

    line: int
    column: int
    path: str
    excerpt: str


class IssueWriter:
    """Collects the issues of one offer, and appends them to its record.

    There is one issue for each code and field, with position and value of the first occurrence and the count of all. A
    record has at most `MAX_ISSUES`; the last one counts the issues beyond. Issues contain the parameters of their
    texts, which `IssueWords` composes when the issue is read.

    Args:
        offer: The offer, with its position.
        external_id: Id under which the issues are listed.
        window: The source of the offer.
        names: The format's names of the fields.
    """

    __slots__ = ("_external_id", "_found", "_left_out", "_names", "_offer", "_window")

    def __init__(self, offer: LocatedOffer, external_id: str, window: SourceWindow, names: FieldNames) -> None:
        self._offer = offer
        self._external_id = external_id
        self._window = window
        self._names = names
        self._found: dict[tuple[str, str], _Found] = {}
        self._left_out = 0

    def add(
        self,
        code: str,
        *,
        field: str = "",
        element: FeedElement | None = None,
        value: str = "",
        **details: object,
    ) -> None:
        """Add an issue; if there is one with the same code and field, it is only counted.

        Args:
            code: A key of `ISSUES`.
            field: Name of the field in the feed; empty: the element's name.
            element: Child element with the fault; None: the offer itself.
            value: Value that was found.
            details: Parameters of the code's texts.
        """
        if not field and element is not None:
            field = source_name(element)
        found, key = self._found, (code, field)
        known = found.get(key)
        if known is not None:
            known.count += 1
        elif len(found) < MAX_ISSUES - 1:
            found[key] = _Found(code, field, element, value, details)
        else:
            self._left_out += 1

    def write(self, record: OfferRecord) -> None:
        """Append the issues to the offer's record, with the count of those left out. Call it once."""
        if not self._found:
            return
        if self._left_out:
            self._found["TOO_MANY_ISSUES", ""] = _Found("TOO_MANY_ISSUES", "", None, "", {"count": self._left_out})
        places = self._find_places(self._found.values())
        for found in self._found.values():
            self._write(record, found, places[found])

    def _find_places(self, issues: Collection[_Found]) -> dict[_Found, _Place]:
        """Return the positions of the offer's issues, found in one pass over its source."""
        window, offer = self._window, self._offer
        source = window.piece(offer.start, offer.end)
        encoding = window.encoding
        elements = _find_elements({found.element for found in issues if found.element is not None}, offer.element)
        begins = child_places(source, encoding) if elements else []
        # If an element cannot be found, the issue gets the position of the offer.
        offsets = {each: begins[index] if index < len(begins) else 0 for each, (index, _) in elements.items()}
        begin = LineColumn(offer.line, window.column(offer.start))
        at = places_in(source, encoding, begin, {0, *offsets.values()})
        places: dict[_Found, _Place] = {}
        for found in issues:
            if found.element is None:
                offset, nth = 0, 0
            else:
                offset, nth = offsets[found.element], elements[found.element][1]
            excerpt = source[offset : offset + 4 * EXCERPT_CHARS].decode(encoding, "replace")
            places[found] = _Place(*at[offset], self._path(found, nth), excerpt_of(excerpt))
        return places

    def _write(self, record: OfferRecord, found: _Found, place: _Place) -> None:
        external_id, ordinal = self._external_id, self._offer.ordinal
        meaning = ISSUES[found.code]
        space = space_within(found.value) if found.code in _LINK_CODES else -1
        details = found.details
        if space >= 0:
            details["has_space"] = 1
        value = clip(found.value, _VALUE_CHARS, space)
        record.errors.add(
            external_id=external_id,
            ordinal=ordinal,
            level=meaning.level,
            kind=meaning.kind,
            code=found.code,
            field=found.field,
            line=place.line,
            column=place.column,
            path=place.path,
            excerpt=place.excerpt,
            value=value,
            count=found.count,
            error_id=_error_id(external_id, str(ordinal), found.code, found.field, place.path, value),
            parameters=[_parameter(name, detail) for name, detail in details.items()],
        )

    def _path(self, found: _Found, nth: int) -> str:
        offer = self._names.offer
        if found.element is None:
            return f"{offer}/@{found.field}" if found.field in self._names.attributes else offer
        name = source_name(found.element)
        return f"{offer}/{name}" if nth == 1 else f"{offer}/{name}[{nth}]"


def _parameter(name: str, detail: object) -> IssueParameter:
    if isinstance(detail, int):
        return IssueParameter(name=name, number=detail)
    return IssueParameter(name=name, text=clip(str(detail), _VALUE_CHARS))


def _find_elements(wanted: set[FeedElement], offer: FeedOffer) -> dict[FeedElement, tuple[int, int]]:
    """Return the index of each of these children of the offer, and its number among those of its name, from 1."""
    found: dict[FeedElement, tuple[int, int]] = {}
    counts: dict[str, int] = {}
    children: Iterable[FeedElement] = offer if wanted else ()
    for index, child in enumerate(children):
        tag = str(child.tag)
        nth = counts[tag] = counts.get(tag, 0) + 1
        if child in wanted:
            found[child] = index, nth
            if len(found) == len(wanted):
                break
    return found


def source_name(element: FeedElement) -> str:
    """Return the name of an element as written in the file, with its prefix."""
    tag = str(element.tag)
    if not tag.startswith("{"):
        return tag
    local = tag.rpartition("}")[2]
    return f"{element.prefix}:{local}" if element.prefix else local


def excerpt_of(text: str) -> str:
    """Return the beginning of a piece of the source as one line."""
    return clip(" ".join(text.split()), EXCERPT_CHARS)


def clip(text: str, limit: int, place: int = 0) -> str:
    """Return at most `limit` characters: the beginning, or the text around `place` if it is further behind."""
    if len(text) <= limit:
        return text
    if place < limit - 1:
        return text[: limit - 1] + "…"
    start = min(place - limit // 2, len(text) - limit)
    piece = "…" + text[start + 1 : start + limit]
    return piece if start + limit == len(text) else piece[:-1] + "…"


def _error_id(*parts: str) -> str:
    """Return the id of an issue: equal for repeated reports of it, different for other issues of the offer."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
