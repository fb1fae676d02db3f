"""Documents of points for the search, and their schema (client `points`)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from classifeed.documents.v1.document_pb2 import (
    DOCUMENT_ACTION_DELETE,
    DOCUMENT_ACTION_UPSERT,
    RawDocument,
)
from classifeed.documents.v1.schema_pb2 import (
    ANALYZER_RU_EN,
    FIELD_TYPE_GEO_POINT,
    FIELD_TYPE_INT,
    FIELD_TYPE_STRING,
    FIELD_TYPE_TEXT,
    FIELD_TYPE_TIMESTAMP,
    FieldSchema,
    Schema,
)
from classifeed_domain.document_bodies import GeoPoint, encode_body
from classifeed_moderation.domain.subjects import Status

CLIENT: Final = "points"
EPOCH: Final = 1


class DuePoint(NamedTuple):
    """A point whose newest version the index does not have, as the publish mark reads it."""

    point_id: UUID
    version: int
    author_role: str
    tags: list[str]
    latitude: float
    longitude: float
    votes_for: int
    votes_against: int
    description: str
    status: str
    is_removed: bool
    created_at: datetime
    updated_at: datetime
    composed_at: datetime


def schema() -> Schema:
    """Return the schema of epoch 1. Within an epoch, only new optional fields may be added."""

    return Schema(
        client=CLIENT,
        epoch=EPOCH,
        fields=[
            FieldSchema(
                name="description", type=FIELD_TYPE_TEXT, indexed=True, stored=True, analyzer=ANALYZER_RU_EN, boost=1.0
            ),
            FieldSchema(name="tags", type=FIELD_TYPE_STRING, indexed=True, stored=True, repeated=True, facet=True),
            FieldSchema(name="location", type=FIELD_TYPE_GEO_POINT, indexed=True, stored=True, required=True),
            FieldSchema(name="author_role", type=FIELD_TYPE_STRING, indexed=True, stored=True, facet=True),
            FieldSchema(name="votes_for", type=FIELD_TYPE_INT, indexed=True, stored=True, sortable=True),
            FieldSchema(name="votes_against", type=FIELD_TYPE_INT, indexed=True, stored=True, sortable=True),
            FieldSchema(name="created", type=FIELD_TYPE_TIMESTAMP, indexed=True, stored=True, sortable=True),
            FieldSchema(name="updated", type=FIELD_TYPE_TIMESTAMP, indexed=True, stored=True, sortable=True),
        ],
    )


def compose(due: DuePoint) -> RawDocument:
    """Return the document that the search must show for a point, or a deletion if it is not approved or removed.

    The timestamp is the time of the read, so that a push repeated for a repair counts as fresh.
    """
    document = RawDocument(
        pk=str(due.point_id),
        version=due.version,
        timestamp=due.composed_at,
        action=DOCUMENT_ACTION_DELETE,
        epoch=EPOCH,
    )
    if due.status == Status.APPROVED and not due.is_removed:
        document.action = DOCUMENT_ACTION_UPSERT
        values: dict[str, Any] = {
            "tags": due.tags,
            "location": GeoPoint(due.latitude, due.longitude),
            "author_role": due.author_role.lower(),
            "votes_for": due.votes_for,
            "votes_against": due.votes_against,
            "created": due.created_at,
            "updated": due.updated_at,
        }
        if due.description.strip():
            values["description"] = due.description
        if not due.tags:
            del values["tags"]
        document.body = encode_body(values)
    return document
