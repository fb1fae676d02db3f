"""Rules out of a file, exchanged while the service runs."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

import yaml

from classifeed_common.snapshot import FileSource, PackagedSource, Snapshot
from classifeed_moderation.domain.rules import RuleSet

NAME: Final = "rules"


def rules_snapshot(file: Path | None) -> Snapshot[RuleSet]:
    """Return the rules of a file, or those that come with the service; `open` comes first.

    A file that breaks the schema, or a rule of `RuleSet.of`, leaves the version before in force.
    """
    source = FileSource(file) if file is not None else PackagedSource(__package__, "rules.yaml")
    schema = yaml.safe_load(files(__package__).joinpath("rules.schema.yaml").read_bytes())
    return Snapshot(NAME, source, schema=schema, parse=RuleSet.of)
