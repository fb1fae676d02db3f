"""Documents of offers for the search, and their schema (client `offers`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import unescape
from typing import Any, Final, NamedTuple

from classifeed.documents.v1.document_pb2 import (
    DOCUMENT_ACTION_DELETE,
    DOCUMENT_ACTION_UPSERT,
    RawDocument,
)
from classifeed.documents.v1.schema_pb2 import (
    ANALYZER_RU_EN,
    FIELD_TYPE_BOOL,
    FIELD_TYPE_DOUBLE,
    FIELD_TYPE_GEO_POINT,
    FIELD_TYPE_STRING,
    FIELD_TYPE_TEXT,
    FIELD_TYPE_TIMESTAMP,
    FieldSchema,
    Schema,
)
from classifeed.offers.v1.offer_pb2 import OFFER_PICTURE_STATE_FAILED, OFFER_PICTURE_STATE_STORED, OfferContent
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_domain.document_bodies import GeoPoint, encode_body
from classifeed_domain.offer_names import CHANGE_TIME_FIELD, DOCUMENT_CLIENT, SELLER_FIELD, OfferName
from classifeed_domain.pictures.issues import NEVER_SHOWN
from classifeed_offers.domain.offers import Status
from classifeed_offers.domain.pictures import MAX_PICTURES, read_pictures

CLIENT: Final = DOCUMENT_CLIENT
EPOCH: Final = 1

_SIZE: Final = "large"
_ORIGINAL: Final = "orig"
_TAG: Final = re.compile(r"<[^<>]{0,2000}>")


class DueOffer(NamedTuple):
    """An offer whose newest version the index does not have, as the publish mark reads it."""

    offer_id: int
    version: int
    seller_id: str
    namespace: str
    external_id: str
    status: str
    content: bytes
    published_content: bytes | None
    updated_at: datetime
    composed_at: datetime
    pictures: bytes | None = None


@dataclass(frozen=True, slots=True)
class PictureRules:
    """Rules for the addresses of pictures in documents.

    Attributes:
        base_url: prefix of the path of a stored picture.
        is_kept: whether pictures are requested at all; if not, documents contain links only.
    """

    base_url: str = ""
    is_kept: bool = True


_RULES: Final = PictureRules()


def schema() -> Schema:
    """Return the schema of epoch 1. Within an epoch, only new optional fields may be added."""

    def text(name: str, boost: float = 1.0, *, stored: bool = True) -> FieldSchema:
        return FieldSchema(
            name=name, type=FIELD_TYPE_TEXT, indexed=True, stored=stored, analyzer=ANALYZER_RU_EN, boost=boost
        )

    def word(name: str, *, required: bool = False, facet: bool = False) -> FieldSchema:
        return FieldSchema(name=name, type=FIELD_TYPE_STRING, indexed=True, stored=True, required=required, facet=facet)

    return Schema(
        client=CLIENT,
        epoch=EPOCH,
        fields=[
            word(SELLER_FIELD, required=True, facet=True),
            word("namespace", required=True),
            word("external_id", required=True),
            text("title", 3.0),
            text("description"),
            text("category"),
            word("category_id", facet=True),
            word("vendor", facet=True),
            FieldSchema(name="price", type=FIELD_TYPE_DOUBLE, indexed=True, stored=True, sortable=True),
            word("currency"),
            FieldSchema(name="url", type=FIELD_TYPE_STRING, stored=True),
            FieldSchema(name="picture", type=FIELD_TYPE_STRING, stored=True, repeated=True),
            FieldSchema(name="available", type=FIELD_TYPE_BOOL, indexed=True, stored=True),
            FieldSchema(name="location", type=FIELD_TYPE_GEO_POINT, indexed=True, stored=True),
            FieldSchema(name=CHANGE_TIME_FIELD, type=FIELD_TYPE_TIMESTAMP, indexed=True, stored=True, sortable=True),
            text("attributes", stored=False),
        ],
    )


def compose(due: DueOffer, rules: PictureRules = _RULES) -> RawDocument:
    """Return the document that the search must show for an offer now, or a deletion.

    The timestamp is the time of the read, so that a push repeated for a repair counts as fresh.
    """
    document = RawDocument(
        pk=OfferName(due.seller_id, due.namespace, due.external_id).document_pk,
        version=due.version,
        timestamp=due.composed_at,
        action=DOCUMENT_ACTION_DELETE,
        epoch=EPOCH,
    )
    shown = due.published_content
    if shown is None and due.status == Status.ACTIVE:
        shown = due.content
    if shown is not None and due.status in {Status.ACTIVE, Status.PENDING}:
        document.action = DOCUMENT_ACTION_UPSERT
        document.body = encode_body(_values(due, OfferContent.FromString(shown), rules))
    return document


def _values(due: DueOffer, content: OfferContent, rules: PictureRules) -> dict[str, Any]:
    values: dict[str, Any] = {
        SELLER_FIELD: due.seller_id,
        "namespace": due.namespace,
        "external_id": due.external_id,
        "title": content.title,
        "description": plain_text(content.description),
        "category": " ".join(content.category_path),
        "category_id": content.category_id,
        "vendor": content.vendor,
    }
    if content.HasField("price"):
        values["price"] = content.price.amount_micros / 1_000_000
        values["currency"] = content.price.currency_code
    values["url"] = content.url
    values["picture"] = list(filter(None, _pictures(content.picture_urls[:MAX_PICTURES], due.pictures, rules)))
    values["available"] = content.available
    if content.HasField("location"):
        values["location"] = GeoPoint(content.location.latitude, content.location.longitude)
    values[CHANGE_TIME_FIELD] = due.updated_at
    properties = [(it.name, it.value, it.unit) for it in content.attributes]
    identity = [content.vendor, content.model, content.vendor_code, *content.barcodes]
    values["attributes"] = " ".join(word for words in [*properties, identity] for word in words if word)
    return {name: value for name, value in values.items() if value not in ("", [])}


def _pictures(urls: Sequence[str], records: bytes | None, rules: PictureRules) -> Sequence[str]:
    """Return addresses of stored pictures and links of others, in the order of the links.

    A failed picture is omitted unless there is nothing else to show; one that may not be shown is always omitted.
    """
    if not rules.is_kept:
        return urls
    known = {picture.url: picture for picture in read_pictures(records)}
    shown: list[str] = []
    failed: list[str] = []
    for url in urls:
        picture = known.get(url)
        if picture is not None and picture.state == OFFER_PICTURE_STATE_STORED:
            shown.append(picture_address(picture.info, rules))
        elif picture is not None and picture.state == OFFER_PICTURE_STATE_FAILED:
            if picture.failure.code not in NEVER_SHOWN:
                failed.append(url)
        else:
            shown.append(url)
    return shown or failed


def picture_address(info: PictureInfo, rules: PictureRules = _RULES) -> str:
    """Return the address of a stored picture: its large size or, if it lacks that size, the original."""
    size = _SIZE if any(it.name == _SIZE for it in info.sizes) else _ORIGINAL
    return f"{rules.base_url}/get/{info.namespace}/{info.group_id}/{info.name}/{size}"


def plain_text(html: str) -> str:
    """Return a seller's description without tags and entities: tag names are not words of the offer."""
    if "<" not in html and "&" not in html:
        return html
    return unescape(_TAG.sub(" ", html)).strip()
