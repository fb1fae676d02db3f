"""The how-to on several loaders has existing variables with their defaults."""

from __future__ import annotations

import re

from classifeed_jobs import JobSettings
from classifeed_loader.settings import LoaderSettings
from tests.docs.pages import ROOT

TEXT = (ROOT / "docs" / "how-to" / "run-two-loaders.md").read_text("utf-8")
FIELDS = LoaderSettings.model_fields


def test_variables_exist() -> None:
    named = set(re.findall(r"CLASSIFEED_LOADER_([A-Z0-9_]+)=", TEXT)) | set(
        re.findall(r"`([A-Z0-9]+(?:_[A-Z0-9]+)+)`", TEXT)
    )
    own = {name for name in named if not name.startswith("DL_") and name not in {"CREDENTIALS_UNREADABLE"}}
    assert own - {name.upper() for name in FIELDS} == set()
    assert {name.lower() for name in named if name.startswith("DL_")} <= set(JobSettings.model_fields)
    assert len(own) > 10


def test_defaults_are_those_of_the_settings() -> None:
    rows = re.findall(r"^\| `([A-Z0-9_]+)` \| (\d+) \|", TEXT, re.MULTILINE)
    assert {name: int(value) for name, value in rows} == {name: FIELDS[name.lower()].default for name, _ in rows}
    assert len(rows) >= 5
    stated = dict(re.findall(r"`([A-Z_]+)`[ (,]+(\d+) s", TEXT))
    assert stated == {"LEASE_TTL_S": "10", "JOBS_LEASE_S": "20", "DRAIN_GRACE_S": "45"}
    assert all(float(value) == FIELDS[name.lower()].default for name, value in stated.items())
