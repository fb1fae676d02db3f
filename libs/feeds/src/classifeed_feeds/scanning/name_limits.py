"""Count the names in a file, because parsers keep each name with its namespace in memory."""

from __future__ import annotations

from itertools import islice
from xml.parsers import expat

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.source.limits import Limits


class NameCount:
    """Rejects a file whose names would fill the memory."""

    def __init__(self, parser: expat.XMLParserType, limits: Limits) -> None:
        self._parser = parser
        self._limits = limits
        self._seen = 0
        self._chars = 0

    def check(self) -> None:
        """Check the names since the last call; call it for each piece of the file.

        Raises:
            FeedFault: UNSAFE_XML.
        """
        intern, limits = self._parser.intern, self._limits
        if len(intern) == self._seen:
            return
        if len(intern) > limits.names:
            raise _refusal(f"The file uses more than {limits.names:,} different names of tags and attributes")
        # The dictionary keeps the order of insertion, and includes prefixes and namespaces.
        self._chars += sum(len(name or "") for name in islice(intern, self._seen, None))
        self._seen = len(intern)
        if self._chars > limits.name_chars:
            raise _refusal(f"The names of tags and attributes have more than {limits.name_chars:,} characters together")

    def check_namespace(self, uri: str) -> None:
        """Check the length of a declared namespace, which every name in it repeats.

        Raises:
            FeedFault: UNSAFE_XML.
        """
        if len(uri) > self._limits.namespace_chars:
            raise _refusal(f"A namespace has more than {self._limits.namespace_chars} characters")


def _refusal(reason: str) -> FeedFault:
    return FeedFault("UNSAFE_XML", reason)
