"""Checks of the document type in a file: only short entities with short texts are allowed."""

from __future__ import annotations

import re
from xml.parsers import expat

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.source.entities import undefined_entity
from classifeed_feeds.source.limits import Limits

# A reference to another entity; those to characters stay.
_REFERENCE = re.compile(r"&[^#]")


class Doctype:
    """Rejects unsafe declarations while expat reads them.

    expat and libxml2 treat parameter entities differently. In both, a default value of an attribute takes memory for
    each element without the attribute.

    Attributes:
        is_outer: Whether the document type refers to declarations outside of the file, which are never read.
        has_subset: Whether the file contains declarations.
        has_entities: Whether it declares entities, so that offers may be longer than their source.
    """

    def __init__(self, parser: expat.XMLParserType, limits: Limits) -> None:
        self._parser = parser
        self._limits = limits
        self._start = -1
        self.is_outer = False
        self.has_subset = False
        self.has_entities = False
        parser.StartDoctypeDeclHandler = self._begin
        parser.EndDoctypeDeclHandler = self._end
        parser.EntityDeclHandler = self._check_entity
        parser.AttlistDeclHandler = self._check_attribute
        parser.SkippedEntityHandler = self._refuse_unknown

    def check_size(self) -> None:
        """Check the size of the document type; call it for each piece of the file.

        Raises:
            FeedFault: UNSAFE_XML.
        """
        if self._start >= 0 and self._parser.CurrentByteIndex - self._start > self._limits.doctype_bytes:
            raise self._refusal(f"The document type takes more than {self._limits.doctype_bytes:,} bytes")

    def _begin(self, _name: str, system_id: str | None, public_id: str | None, has_subset: int) -> None:
        self._start = self._parser.CurrentByteIndex
        self.is_outer = system_id is not None or public_id is not None
        self.has_subset = bool(has_subset)

    def _end(self) -> None:
        self.check_size()
        self._start = -1

    def _check_entity(
        self,
        name: str,
        is_parameter: int,
        value: str | None,
        _base: str | None,
        system_id: str | None,
        _public: str | None,
        _notation: str | None,
    ) -> None:
        shown = name[:40]
        if system_id is not None or value is None:
            raise self._refusal(f"The entity {shown} points to something outside of the file")
        if is_parameter:
            raise self._refusal(f"%{shown}; is an entity for declarations")
        if "<" in value or _REFERENCE.search(value) is not None:
            raise self._refusal(f"The entity {shown} holds elements or other entities")
        if len(value.encode()) > self._limits.entity_bytes:
            raise self._refusal(f"The entity {shown} has more than {self._limits.entity_bytes} bytes")
        self.has_entities = True

    def _check_attribute(self, element: str, attribute: str, _kind: str, default: str | None, _required: int) -> None:
        if default is not None:
            raise self._refusal(f"The attribute {attribute[:40]} of <{element[:40]}> has a default value")

    def _refuse_unknown(self, name: str, _is_parameter: bool) -> None:
        # expat would continue, because the entity may be declared outside; libxml2 would stop there in the second pass,
        # after a part of the offers was sent.
        reason, fix = undefined_entity(name)
        raise FeedFault("MALFORMED_XML", reason, line=self._parser.CurrentLineNumber, fix=fix)

    def _refusal(self, reason: str) -> FeedFault:
        return FeedFault("UNSAFE_XML", reason, line=self._parser.CurrentLineNumber)
