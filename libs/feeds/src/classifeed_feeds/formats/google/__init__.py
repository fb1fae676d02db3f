"""Product feeds as Google Merchant Center and Facebook (Meta) catalogues take them: RSS 2.0 and Atom."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.google.mapping import AtomMapping, RssMapping
from classifeed_feeds.formats.google.names import ATOM_NAMES, RSS_NAMES
from classifeed_feeds.formats.google.scan import AtomScan, RssScan

GOOGLE_RSS: Final = Format(
    name=RssScan.name,
    title="Google and Facebook products, RSS 2.0",
    description="Product data that shops send to Google Merchant Center and to catalogues of Facebook and Instagram.",
    recognised_by="root <rss> with the namespace http://base.google.com/ns/1.0",
    roots=RssScan.shape.containers[0],
    shape=RssScan.shape,
    names=RSS_NAMES,
    scan=RssScan,
    mapping=RssMapping,
    package=__package__,
    sample="google-rss-sample.xml",
)
GOOGLE_ATOM: Final = Format(
    name=AtomScan.name,
    title="Google and Facebook products, Atom",
    description="The same product data as in RSS, in an Atom feed.",
    recognised_by="root <feed> of Atom with the namespace http://base.google.com/ns/1.0",
    roots=AtomScan.shape.containers[0],
    shape=AtomScan.shape,
    names=ATOM_NAMES,
    scan=AtomScan,
    mapping=AtomMapping,
    package=__package__,
    sample="google-atom-sample.xml",
)
