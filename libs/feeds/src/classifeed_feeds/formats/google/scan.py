"""First pass over product feeds of Google and Facebook: RSS 2.0 and Atom with Google's product data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from classifeed_feeds.formats.google.tags import ATOM, DESCRIBING_TAGS, GOOGLE, KNOWN_TAGS, every_name
from classifeed_feeds.scanning.scan import OtherFormat
from classifeed_feeds.scanning.shape import IdRule, OfferShape
from classifeed_feeds.scanning.tree_scan import TreeScan

_ADVICE: Final = (
    'To have it loaded, declare xmlns:g="{namespace}" in the root and give each <{offer}> <g:id>, <g:title>, <g:price> '
    "and the other elements of Google's product data"
)
_UNDECLARED: Final = (
    'The file does not declare xmlns:g="{namespace}"; its items have an id, a title and a price, so they were read as '
    "Google's product data."
)
_OURS: Final = ("", *GOOGLE, ATOM)
# Elements of RSS and Atom that describe the shop.
_OF_THE_SHOP: Final = every_name(
    (
        "author", "category", "cloud", "contributor", "copyright", "description", "docs", "generator", "icon", "id",
        "image", "language", "lastBuildDate", "link", "logo", "managingEditor", "metadata", "pubDate", "rating",
        "rights", "skipDays", "skipHours", "subtitle", "textInput", "title", "ttl", "updated", "webMaster",
    )
)  # fmt: skip
# An item with all of these is a product, even if the file does not declare the namespace.
_OF_A_PRODUCT: Final = frozenset({"id", "title", "price"})
_GOOGLE_IDS: Final = dict.fromkeys(every_name(["id"], GOOGLE), 0)


class _ProductScan(TreeScan):
    describing_tags = DESCRIBING_TAGS

    offer_tag: str
    family: str

    def open_root(self, _attributes: dict[str, str], namespaces: frozenset[str], /) -> None:
        """Check whether the root declares Google's namespace."""
        self._declared = not namespaces.isdisjoint(GOOGLE)

    def is_stray(self, name: str, /) -> bool:
        """Return whether an element is stray: it does not describe the shop, and is not an extension."""
        return name.rpartition(" ")[0] in _OURS and name not in _OF_THE_SHOP

    def finish(self, skipped_lines: int) -> list[str]:
        """Check that the file has Google's product data, then do the checks of all formats.

        Raises:
            FeedFault: STRUCTURE_WRONG.
            OtherFormat: The file is news, a podcast, or a shop's own kind of RSS.
        """
        speaks_google = self._declared or any(tag.startswith(GOOGLE) for tag in self.child_tags)
        if not speaks_google and not self._has_products():
            raise OtherFormat(
                f"{self.family} without the product data of Google",
                _ADVICE.format(namespace=GOOGLE[0], offer=self.offer_tag),
            )
        warnings = super().finish(skipped_lines)
        if not speaks_google:
            warnings.append(_UNDECLARED.format(namespace=GOOGLE[0]))
        return warnings

    def _has_products(self) -> bool:
        """Return whether the items have the elements of products, without a namespace or in that of the format."""
        ours = {tag.rpartition(" ")[2] for tag in self.child_tags if tag.rpartition(" ")[0] in {"", ATOM}}
        return ours.issuperset(_OF_A_PRODUCT)

    def unknown_tags(self) -> Iterable[str]:
        """Return the unknown tags, in Google's namespaces or without one."""
        return sorted(tag for tag in self.child_tags if tag.rpartition(" ")[0] in _OURS and tag not in KNOWN_TAGS)

    def show_tag(self, tag: str) -> str:
        """Return a tag with its usual prefix."""
        namespace, _, local = tag.rpartition(" ")
        return f"g:{local}" if namespace in GOOGLE else local


class RssScan(_ProductScan):
    """First pass over an RSS 2.0 file."""

    name = "google_rss"
    title = "Google's product data"
    shape = OfferShape(
        # Some shops declare Google's namespace as that of all elements.
        containers=(every_name(["rss"], ("", *GOOGLE)), every_name(["channel"], ("", *GOOGLE))),
        offers=every_name(["item"], ("", *GOOGLE)),
        ids=IdRule(ranks=_GOOGLE_IDS | {"id": 1}),
    )
    offer_tag = "item"
    family = "RSS"


class AtomScan(_ProductScan):
    """First pass over an Atom file."""

    name = "google_atom"
    title = "Google's product data"
    shape = OfferShape(
        containers=(frozenset({f"{ATOM} feed"}),),
        offers=frozenset({f"{ATOM} entry"}),
        # Atom also has an <id>, mostly an address; it is used if there is no other id.
        ids=IdRule(ranks=_GOOGLE_IDS | {"id": 1, f"{ATOM} id": 2}),
    )
    offer_tag = "entry"
    family = "Atom"
