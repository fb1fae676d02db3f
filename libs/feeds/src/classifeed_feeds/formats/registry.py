"""All supported formats. To add one, add a package next to the others and an entry here."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.google import GOOGLE_ATOM, GOOGLE_RSS
from classifeed_feeds.formats.native import NATIVE
from classifeed_feeds.formats.yml import YML

# In the order in which they are listed for people.
FORMATS: Final[tuple[Format, ...]] = (NATIVE, YML, GOOGLE_RSS, GOOGLE_ATOM)
_BY_NAME: Final = {each.name: each for each in FORMATS}
_BY_ROOT: Final = {root: each for each in FORMATS for root in each.roots}


def find_format(root: str) -> Format | None:
    """Return the format whose files have this root element, in expat's notation; None: there is none."""
    return _BY_ROOT.get(root)


def format_named(name: str) -> Format:
    """Return the format with a name.

    Raises:
        KeyError: There is no such format.
    """
    return _BY_NAME[name]
