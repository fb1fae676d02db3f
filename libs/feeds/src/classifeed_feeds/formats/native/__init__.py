"""Our own format: root classifeed, offers, offer. `feed.xsd` is its definition."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.native.mapping import NativeMapping
from classifeed_feeds.formats.native.names import NAMES
from classifeed_feeds.formats.native.scan import NativeScan

NATIVE: Final = Format(
    name=NativeScan.name,
    title="Classifeed",
    description="Our own format, for goods and classifieds alike; it has every field of an offer.",
    recognised_by="root <classifeed>",
    roots=NativeScan.shape.containers[0],
    shape=NativeScan.shape,
    names=NAMES,
    scan=NativeScan,
    mapping=NativeMapping,
    package=__package__,
    sample="native-sample.xml",
    schema="feed.xsd",
)
