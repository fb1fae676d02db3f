"""Paths in the folder of a generation."""

from __future__ import annotations

from pathlib import Path

from classifeed.documents.v1.schema_pb2 import Schema


def schema_of(folder: Path) -> Path:
    """Return the file with the schema of a generation."""
    return folder / "schema.binpb"


def state_of(folder: Path) -> Path:
    """Return the file with the state of a generation."""
    return folder / "state.json"


def index_of(folder: Path) -> Path:
    """Return the folder of the index itself."""
    return folder / "index"


def read_schema(folder: Path) -> Schema:
    """Return the schema of a generation.

    Raises:
        OSError, ValueError: there is none.
    """
    return Schema.FromString(schema_of(folder).read_bytes())
