"""Interface of a format plug-in: recognition of its files, their two passes, and the names of its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed_feeds.mapping.field_names import FieldNames
from classifeed_feeds.mapping.issues import IssueWriter
from classifeed_feeds.mapping.table_mapping import MappingOptions
from classifeed_feeds.scanning.elements import FeedOffer
from classifeed_feeds.scanning.plain_offers import PlainRules
from classifeed_feeds.scanning.scan import FeedScan, ScanFactory
from classifeed_feeds.scanning.shape import OfferShape


class OfferMapping(Protocol):
    """The second pass of one format."""

    def fill(self, record: OfferRecord, offer: FeedOffer, issues: IssueWriter) -> None:
        """Fill `record.content` and, for a patch, `record.named_fields`; add issues to `issues`."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of feed files.

    Attributes:
        name: Stable short name, which a task shows.
        title: Name for people.
        description: One sentence about its authors and purpose.
        recognised_by: Description of the mark by which files are recognised, which fits into brackets.
        roots: Names of its root element, in expat's notation.
        shape: Path to its offers.
        names: Its names for the fields of an offer.
        scan: Factory of the first pass.
        mapping: Factory of the second pass of a scanned file.
        package: Python package that contains its files.
        sample: Name of its sample file.
        schema: Name of its XML Schema; empty: there is none.
        plain: Rules for offers that its schema surely accepts; None: each offer is parsed and checked by the schema.
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
