"""What is in the folder of a generation; for processes that read it, and take in nothing else of this service."""

from __future__ import annotations

from pathlib import Path

from classifeed.documents.v1.schema_pb2 import Schema


def schema_of(folder: Path) -> Path:
    """Return the file of the schema that a generation was made with."""
    return folder / "schema.binpb"


def state_of(folder: Path) -> Path:
    """Return the file that says how far a generation has come."""
    return folder / "state.json"


def index_of(folder: Path) -> Path:
    """Return the folder of the index itself."""
    return folder / "index"


def read_schema(folder: Path) -> Schema:
    """Return the schema that a generation was made with.

    Raises:
        OSError, ValueError: there is none.
    """
    return Schema.FromString(schema_of(folder).read_bytes())
