from __future__ import annotations

from typing import Any

import pytest

from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_receiver.domain.schemas import list_faults, list_incompatible_changes, merge

from ...conftest import Build


@pytest.mark.parametrize(
    ("field", "path", "message"),
    [
        ({"name": "title", "type": "FIELD_TYPE_INT"}, "schema.fields[7].name", "title is used twice"),
        ({"name": "t", "type": "FIELD_TYPE_TEXT"}, "schema.fields[7].analyzer", "needs an analyzer"),
        ({"name": "t", "type": "FIELD_TYPE_INT", "analyzer": 2}, "schema.fields[7].analyzer", "leave it unset"),
        ({"name": "t", "type": "FIELD_TYPE_INT", "boost": 2}, "schema.fields[7].boost", "leave it 0"),
        (
            {"name": "t", "type": "FIELD_TYPE_INT", "repeated": True, "sortable": True},
            "schema.fields[7].sortable",
            "cannot be sorted",
        ),
        ({"name": "t", "type": "FIELD_TYPE_TEXT", "analyzer": 1, "facet": True}, "schema.fields[7].facet", "TEXT"),
        ({"name": "t", "type": "FIELD_TYPE_GEO_POINT", "sortable": True}, "schema.fields[7].sortable", "GEO_POINT"),
    ],
)
def test_contradiction_is_named_with_its_field(build: Build, field: dict[str, Any], path: str, message: str) -> None:
    schema = build.schema()
    assert list_faults(schema) == []
    schema.fields.add(**field)
    assert [(fault.field, message in fault.description) for fault in list_faults(schema)] == [(path, True)]


def test_name_shared_by_field_and_embedding(build: Build) -> None:
    schema = build.schema()
    schema.embeddings.add(name="title", dimension=3)
    assert [fault.field for fault in list_faults(schema)] == ["schema.embeddings[1].name"]


def change_boost(schema: Schema) -> None:
    schema.fields[0].boost = 2


def make_optional(schema: Schema) -> None:
    schema.fields[0].required = False


def remove(schema: Schema) -> None:
    del schema.fields[1]


def retype(schema: Schema) -> None:
    schema.fields[1].type = 3  # type: ignore[assignment]
    schema.fields[1].facet = True


def add_required(schema: Schema) -> None:
    schema.fields.add(name="colour", type="FIELD_TYPE_STRING", required=True)


def widen(schema: Schema) -> None:
    schema.embeddings[0].dimension = 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_boost, "field title differs in boost"),
        (make_optional, "field title differs in required"),
        (remove, "field price is missing; stored documents have it"),
        (retype, "field price differs in type, facet"),
        (add_required, "field colour is new and required; stored documents lack it"),
        (widen, "the embeddings differ"),
    ],
)
def test_incompatible_change_is_named(build: Build, change: Any, message: str) -> None:
    new = build.schema()
    change(new)
    assert list_incompatible_changes(build.schema(), new) == [message]


def test_new_optional_field_and_another_order_are_compatible(build: Build) -> None:
    old, new = build.schema(), build.schema()
    new.fields.add(name="colour", type="FIELD_TYPE_STRING")
    new.fields.reverse()
    assert list_incompatible_changes(old, new) == []
    assert [field.name for field in merge(old, new).fields] == [*(field.name for field in old.fields), "colour"]
