"""Rules of canonical URLs out of a file, exchanged while the service runs."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import yaml

from classifeed_common.snapshot import PackagedSource, Snapshot, Source
from classifeed_pictures.domain.urls.canonical import CanonicalRules

NAME: Final = "canonical"
PACKAGED: Final = PackagedSource(__package__, "canonical.yaml")
"""The rules that come with the service; what `source_of` takes where no other ones are named."""


def canonical_snapshot(source: Source = PACKAGED) -> Snapshot[CanonicalRules]:
    """Return the rules of a file, or those that come with the service; `open` comes first.

    A file that breaks the schema leaves the version before in force.
    """
    schema = yaml.safe_load(files(__package__).joinpath("canonical.schema.yaml").read_bytes())
    return Snapshot(NAME, source, schema=schema, parse=CanonicalRules.of)
