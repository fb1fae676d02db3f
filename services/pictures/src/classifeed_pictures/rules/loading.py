"""Loads rules of canonical URLs from a file, and reloads them while the service runs."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import yaml

from classifeed_common.snapshot import PackagedSource, Snapshot, Source
from classifeed_pictures.domain.urls.canonical import CanonicalRules

NAME: Final = "canonical"
PACKAGED: Final = PackagedSource(__package__, "canonical.yaml")
"""The packaged rules, which `source_of` uses if no others are given."""


def canonical_snapshot(source: Source = PACKAGED) -> Snapshot[CanonicalRules]:
    """Return the rules of a file, or the packaged ones; call `open` first.

    If a file breaks the schema, the previous version stays in force.
    """
    schema = yaml.safe_load(files(__package__).joinpath("canonical.schema.yaml").read_bytes())
    return Snapshot(NAME, source, schema=schema, parse=CanonicalRules.of)
