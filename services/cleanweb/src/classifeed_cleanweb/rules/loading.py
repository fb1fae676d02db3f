"""Load the automatic rules from a file, and reload them while the service runs."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import yaml
from jsonschema import Draft202012Validator

from classifeed_cleanweb.automatics import Automatics
from classifeed_common.snapshot import FileSource, PackagedSource, Snapshot
from classifeed_common.snapshot.document import check_document, read_document

NAME: Final = "automatics"


def automatics_snapshot(file: Path | None) -> Snapshot[Automatics]:
    """Return the automatics of a file, or of the default rules; call `open` first.

    A file that breaks the schema, or has a notation that cannot be expanded, is rejected, and the previous version
    stays active.
    """
    source = FileSource(file) if file is not None else PackagedSource(__package__, "rules.yaml")
    return Snapshot(NAME, source, schema=rules_schema(), parse=Automatics.load)


def packaged_rules() -> dict[str, Any]:
    """Return the default rules document, checked."""
    document: dict[str, Any] = read_document(files(__package__).joinpath("rules.yaml").read_bytes(), is_json=False)
    check_document(document, Draft202012Validator(rules_schema()))
    return document


def rules_schema() -> dict[str, Any]:
    """Return the JSON Schema of a rules file."""
    schema: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("rules.schema.yaml").read_bytes())
    return schema
