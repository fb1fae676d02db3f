"""Rules out of a file."""

from __future__ import annotations

from hashlib import blake2b
from importlib.resources import files

import yaml

from classifeed_moderation.app.apply_verdicts import Rules
from classifeed_moderation.domain.rules import RuleSet


def default_rules() -> Rules:
    """Return the rules that come with the service."""
    content = files(__package__).joinpath("rules.yaml").read_bytes()
    document = yaml.safe_load(content)
    return Rules(f"{document['name']}-{blake2b(content, digest_size=4).hexdigest()}", RuleSet.of(document))
