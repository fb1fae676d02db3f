"""Text of an offer: plain title and description, and their hash."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_offers.domain.offers import digest_of

_TAG: Final = re.compile(r"<[^<>]{0,2000}>")


def plain_text(text: str) -> str:
    """Return a text without markup, on one line."""
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = unescape(text)
    return " ".join(text.split())


def hash_text(content: OfferContent) -> bytes:
    """Return the hash of an offer's text; markup and white space do not change it."""
    return digest_of(f"{plain_text(content.title)}\0{plain_text(content.description)}".encode())
