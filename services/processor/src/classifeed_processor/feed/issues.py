"""Writing down what is wrong with one offer, with its place in the file."""

from __future__ import annotations

import hashlib

from lxml import etree

from classifeed.feeds.v1 import load_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed_processor.domain.error_codes import ISSUES
from classifeed_processor.feed.child_place import child_places
from classifeed_processor.feed.field_names import FieldNames
from classifeed_processor.feed.values import space_within
from classifeed_processor.feed.window import SourceWindow

MAX_ISSUES = 20
EXCERPT_CHARS = 200
_VALUE_CHARS = 200
_SAID_CHARS = 80
_LINK_CODES = frozenset({"URL_INVALID", "PICTURE_URL_INVALID"})


class OfferPlace:
    """Where the offer at hand lies, and what it is called."""

    __slots__ = ("end", "line", "ordinal", "start", "window")

    window: SourceWindow

    def __init__(self) -> None:
        self.start = self.end = 0
        self.line = 0
        self.ordinal = 0


class IssueWriter:
    """Appends issues to the record at hand. At most `MAX_ISSUES`; what is beyond is counted in a last one."""

    __slots__ = ("_children", "_external_id", "_left_out", "_names", "_place", "_record", "_suggestions", "_words")

    _record: OfferRecord

    def __init__(self, place: OfferPlace, names: FieldNames) -> None:
        self._place = place
        self._names = names
        self._words = names.words()
        self._suggestions = {code: meaning.suggestion.format(**self._words) for code, meaning in ISSUES.items()}
        self._external_id = ""
        self._left_out = 0
        self._children: list[int] | None = None

    def begin(self, record: OfferRecord, external_id: str) -> None:
        """Turns to the next record. `external_id` is what its issues are listed under."""
        self._record = record
        self._external_id = external_id
        self._children = None

    def add(
        self,
        code: str,
        *,
        field: str = "",
        element: etree._Element | None = None,
        value: str = "",
        **details: object,
    ) -> None:
        """Writes one issue down.

        Args:
            code: A key of `ISSUES`.
            field: What it is about, as the feed calls it; the element's name when empty.
            element: The element straight under the offer that is to blame; None for the offer itself.
            value: What was found.
            details: For the words of the code.
        """
        meaning = ISSUES[code]
        if len(self._record.errors) >= MAX_ISSUES - 1 and code != "TOO_MANY_ISSUES":
            self._left_out += 1
            return
        if element is not None:
            field = field or source_name(element)
        line, column, excerpt = self._locate(element)
        space = space_within(value) if code in _LINK_CODES else -1
        issue = self._record.errors.add(
            external_id=self._external_id,
            ordinal=self._place.ordinal,
            level=meaning.level,
            kind=meaning.kind,
            code=code,
            field=field,
            line=line,
            column=column,
            path=self._path(element, field),
            excerpt=excerpt,
            value=_clip(value, _VALUE_CHARS, space),
            title=meaning.title,
            suggestion=self._suggestions[code],
        )
        because = ", for it holds a space" if space >= 0 else ""
        said = _clip(value, _SAID_CHARS, space)
        words = {**self._words, "value": said, "field": field, "because": because, **details}
        issue.expected = meaning.expected.format(**words)
        issue.message = meaning.message.format(**words)
        issue.error_id = _error_id(issue)

    def close(self) -> None:
        """Adds the count of what was left out."""
        if self._left_out:
            self.add("TOO_MANY_ISSUES", count=self._left_out)
            self._left_out = 0

    def _locate(self, element: etree._Element | None) -> tuple[int, int, str]:
        place = self._place
        raw = place.window.piece(place.start, place.end)
        at = 0 if element is None else self._start_of(element, raw)
        line = place.line + raw.count(b"\n", 0, at)
        column = place.window.column(place.start + at)
        excerpt = place.window.text(raw[at : at + 4 * EXCERPT_CHARS])
        return line, column, excerpt_of(excerpt)

    def _start_of(self, element: etree._Element, raw: bytes) -> int:
        if self._children is None:  # the same for all issues of the offer
            self._children = child_places(raw, self._place.window.encoding)
        index = _index(element)
        return self._children[index] if index < len(self._children) else 0

    def _path(self, element: etree._Element | None, field: str) -> str:
        offer = self._names.offer
        if element is None:
            return f"{offer}/@{field}" if field in self._names.attributes else offer
        name = source_name(element)
        nth = 1 + sum(1 for each in element.itersiblings(element.tag, preceding=True) if source_name(each) == name)
        return f"{offer}/{name}" if nth == 1 else f"{offer}/{name}[{nth}]"


def source_name(element: etree._Element) -> str:
    """Returns the name of an element as it stands in the file, with its prefix."""
    local = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else local


def _index(element: etree._Element) -> int:
    parent = element.getparent()
    return 0 if parent is None else parent.index(element)


def excerpt_of(text: str) -> str:
    """Returns the beginning of a piece of the source in one line."""
    return _clip(" ".join(text.split()), EXCERPT_CHARS)


def _clip(text: str, limit: int, place: int = 0) -> str:
    """Returns at most `limit` characters: the beginning, or those around a place that the beginning does not show."""
    if len(text) <= limit:
        return text
    if place < limit - 1:
        return text[: limit - 1] + "…"
    start = min(place - limit // 2, len(text) - limit)
    piece = "…" + text[start + 1 : start + limit]
    return piece if start + limit == len(text) else piece[:-1] + "…"


def _error_id(issue: load_pb2.OfferError) -> str:
    """Two reports of the same thing have the same id; two things in one offer do not."""
    said = "\0".join((issue.external_id, str(issue.ordinal), issue.code, issue.field, issue.path, issue.value))
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()
