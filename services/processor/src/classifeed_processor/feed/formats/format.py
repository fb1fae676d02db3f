"""What a format plug-in gives: how its files are known, how they are read, what its fields are called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed_processor.feed.mapping.field_names import FieldNames
from classifeed_processor.feed.mapping.issues import IssueWriter
from classifeed_processor.feed.mapping.table_mapping import MappingOptions
from classifeed_processor.feed.scanning.elements import FeedOffer
from classifeed_processor.feed.scanning.plain_offers import PlainRules
from classifeed_processor.feed.scanning.scan import FeedScan, ScanFactory
from classifeed_processor.feed.scanning.shape import OfferShape


class OfferMapping(Protocol):
    """The second pass of one format."""

    def fill(self, record: OfferRecord, offer: FeedOffer, issues: IssueWriter) -> None:
        """Fill `record.content` and, for a patch, `record.named_fields`; writes down what is wrong."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format of feed files.

    Attributes:
        name: Stable short name, as a task shows it.
        title: Name for people.
        description: Who writes it and what it is for, in a sentence.
        recognised_by: What is looked for in a file, in words that fit into brackets.
        roots: Names of its root element, as expat writes them.
        shape: Where its offers stand.
        names: What it calls the fields of an offer.
        scan: Makes the first pass.
        mapping: Makes the second pass of a scanned file.
        package: Python package that has its files.
        sample: Name of its sample file.
        schema: Name of its XML Schema; empty when there is none.
        plain: What its schema accepts for certain; None where each offer goes through the parser and the schema.
    """

    name: str
    title: str
    description: str
    recognised_by: str
    roots: frozenset[str]
    shape: OfferShape
    names: FieldNames
    scan: ScanFactory
    mapping: Callable[[FeedScan, MappingOptions], OfferMapping]
    package: str
    sample: str
    schema: str = ""
    plain: PlainRules | None = None

    def read_file(self, name: str) -> bytes:
        """Return a file of the format's package."""
        return files(self.package).joinpath(name).read_bytes()
