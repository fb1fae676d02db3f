"""Load the rules from a file, and reload them while the service runs."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

import yaml

from classifeed_common.snapshot import FileSource, PackagedSource, Snapshot
from classifeed_moderation.domain.rules import RuleSet

NAME: Final = "rules"


def rules_snapshot(file: Path | None) -> Snapshot[RuleSet]:
    """Return the rules of a file, or the default rules; call `open` first.

    A file that breaks the schema or a check of `RuleSet.of` is rejected, and the previous version stays active.
    """
    source = FileSource(file) if file is not None else PackagedSource(__package__, "rules.yaml")
    schema = yaml.safe_load(files(__package__).joinpath("rules.schema.yaml").read_bytes())
    return Snapshot(NAME, source, schema=schema, parse=RuleSet.of)
