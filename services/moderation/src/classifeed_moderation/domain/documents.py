"""What the search knows about a point, and the schema of it (client `points`)."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from classifeed.documents.v1.document_pb2 import (
    DOCUMENT_ACTION_DELETE,
    DOCUMENT_ACTION_UPSERT,
    Field,
    LatLng,
    RawDocument,
    Value,
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
    """Return the schema of epoch 1. Inside an epoch only new optional fields may be added."""

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
    """Return the document of a point: what the search shall show of it, or that it shall show nothing.

    Nothing is shown of a point that is not approved. Its timestamp is when it was read, so that a push repeated for a
    repair counts as fresh.
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
        location = LatLng(latitude=due.latitude, longitude=due.longitude)
        values = {
            "description": [Value(string_value=due.description)] if due.description.strip() else [],
            "tags": [Value(string_value=tag) for tag in due.tags],
            "location": [Value(geo_value=location)],
            "author_role": [Value(string_value=due.author_role.lower())],
            "votes_for": [Value(int_value=due.votes_for)],
            "votes_against": [Value(int_value=due.votes_against)],
            "created": [Value(timestamp_value=due.created_at)],
            "updated": [Value(timestamp_value=due.updated_at)],
        }
        document.fields.extend(Field(name=name, values=found) for name, found in values.items() if found)
    return document
