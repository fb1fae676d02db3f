"""Meanings of the elements of Google's and Facebook's product feeds, in all namespaces that shops use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from lxml import etree

from classifeed_feeds.mapping.extraction import GatheredOffer, TagTable, Take, take_barcode
from classifeed_feeds.scanning.elements import FeedElement
from classifeed_feeds.scanning.shape import inner_text, lxml_name

ATOM: Final = "http://www.w3.org/2005/Atom"
# The first one is correct; the others are common mistakes.
GOOGLE: Final = tuple(
    f"{scheme}://base.google.com/ns/1.0{end}" for scheme in ("http", "https") for end in ("", "/")
)  # fmt: skip
PREFIX_DECLARATION: Final = f' xmlns:g="{GOOGLE[0]}"'
UNDECLARED_PREFIX: Final = (
    "The file uses the prefix g: and never declares it; it was read as Google's product data. Write "
    f"{PREFIX_DECLARATION.strip()} into the root element."
)
# Some shops leave out the prefix of some elements.
_NAMESPACES: Final = ("", *GOOGLE, ATOM)

_SINGLE: Final = {
    "title": "title", "description": "description", "summary": "summary", "content": "summary",
    "price": "price", "sale_price": "sale_price", "availability": "available",
    "brand": "vendor", "mpn": "vendor_code", "manufacturer_part_number": "vendor_code",
    "google_product_category": "google_category", "product_type": "product_type",
    "category": "category_text",
    "quantity": "stock", "inventory": "stock", "quantity_to_sell_on_facebook": "stock",
    "sell_on_google_quantity": "stock",
    "latitude": "latitude", "longitude": "longitude",
}  # fmt: skip
_PICTURES: Final = ("image_link", "additional_image_link")
_BARCODES: Final = ("gtin", "ean", "upc", "isbn")
# Elements that become attributes with the same names.
ATTRIBUTES: Final = (
    "condition", "color", "size", "material", "pattern", "gender", "age_group", "size_type", "size_system",
    "item_group_id", "energy_efficiency_class", "multipack", "is_bundle", "sale_price_effective_date",
    "availability_date", "fb_product_category", "custom_label_0", "custom_label_1", "custom_label_2",
    "custom_label_3", "custom_label_4", "shipping_weight", "shipping_length", "shipping_width", "shipping_height",
    "product_weight", "product_length", "product_width", "product_height", "unit_pricing_measure",
)  # fmt: skip
# Known elements that are not used.
_UNUSED: Final = (
    "adult", "ads_grouping", "ads_labels", "ads_redirect", "additional_variant_attribute", "android_app_name",
    "android_package", "android_url", "applink", "author", "auto_pricing_min_price", "canonical_link",
    "certification", "cloud_export", "comments", "commerce_tax_category", "contributor", "cost_of_goods_sold",
    "creator", "delete", "disclosure_date", "display_ads_id", "display_ads_link", "display_ads_similar_id",
    "display_ads_title", "display_ads_value", "enclosure", "energy_efficiency_class_max",
    "energy_efficiency_class_min", "excluded_destination", "expiration_date", "external_seller_id",
    "free_shipping_threshold", "guid", "id", "identifier_exists", "included_destination", "installment",
    "internal_label", "ios_app_name", "ios_app_store_id", "ios_url", "ipad_app_name", "ipad_app_store_id",
    "ipad_url", "iphone_app_name", "iphone_app_store_id", "iphone_url", "lifestyle_image_link",
    "link_template", "loyalty_points", "loyalty_program", "marketing_message", "max_handling_time",
    "maximum_retail_price", "min_energy_efficiency_class", "min_handling_time", "minimum_order_value",
    "mobile_link", "mobile_link_template", "origin_country", "pause", "pickup_method", "pickup_sla",
    "product_fee", "product_highlight", "promotion_id", "pubDate", "published", "rental_price", "return_policy_label",
    "return_policy_info", "rich_text_description", "rights", "short_title", "shipping", "shipping_label",
    "ships_from_country", "shopping_ads_excluded_country", "source", "status", "store_code", "style",
    "subscription_cost", "tax", "tax_category", "transit_time_label", "unit_pricing_base_measure", "updated",
    "video", "video_link", "virtual_model_link", "visibility", "wa_compliance_category", "windows_phone_app_id",
    "windows_phone_app_name", "windows_phone_url",
)  # fmt: skip
_MEASURE: Final = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s*([A-Za-zА-Яа-я]{1,10}\.?)")


def every_name(locals_: Iterable[str], namespaces: Iterable[str] = _NAMESPACES) -> frozenset[str]:
    """Return the names, in expat's notation, of elements with these local names in each of the namespaces."""
    spaces = tuple(namespaces)
    return frozenset(f"{space} {local}" if space else local for local in locals_ for space in spaces)


def _take_link(gathered: GatheredOffer, element: FeedElement) -> None:
    # In Atom, an attribute has the address, and there may be several links with different purposes.
    if element.get("rel", "alternate") == "alternate":
        gathered.note("url", element.text or element.get("href") or "")


def _take_attribute(gathered: GatheredOffer, element: FeedElement) -> None:
    if text := inner_text(element).strip():
        local = etree.QName(element.tag).localname
        measure = _MEASURE.fullmatch(text) if local in _MEASURED else None
        gathered.params.append((local, measure[1], measure[2]) if measure else (local, text, ""))


def _take_detail(gathered: GatheredOffer, element: FeedElement) -> None:
    texts = {etree.QName(child.tag).localname: inner_text(child).strip() for child in element}
    name, value = texts.get("attribute_name", ""), texts.get("attribute_value", "")
    if name and value:
        gathered.params.append((name, value, ""))


_MEASURED: Final = frozenset(name for name in ATTRIBUTES if name.startswith(("shipping_", "product_", "unit_")))
_SPECIAL: Final[dict[str, Take]] = {
    "link": _take_link,
    "product_detail": _take_detail,
    **dict.fromkeys(_BARCODES, take_barcode),
    **dict.fromkeys(ATTRIBUTES, _take_attribute),
}
_SPECIAL_MEANINGS: Final = {"link": "url", **dict.fromkeys(_BARCODES, "barcodes")}
DESCRIBING_TAGS: Final = every_name(
    (
        "title",
        "description",
        "summary",
        "content",
        "link",
        "image_link",
        "brand",
        "google_product_category",
        "product_type",
    )
)
KNOWN_TAGS: Final = every_name((*_SINGLE, *_PICTURES, *_SPECIAL, *_UNUSED))
TABLE: Final = TagTable(
    single={lxml_name(name): meaning for local, meaning in _SINGLE.items() for name in every_name([local])},
    picture=frozenset(lxml_name(name) for name in every_name(_PICTURES)),
    special={lxml_name(name): take for local, take in _SPECIAL.items() for name in every_name([local])},
    markup=frozenset({"title", "description", "summary"}),
    special_meanings={
        lxml_name(name): _SPECIAL_MEANINGS.get(local, "attributes")
        for local in _SPECIAL
        for name in every_name([local])
    },
)
