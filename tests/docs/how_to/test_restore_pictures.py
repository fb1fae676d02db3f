"""The how-to on restoring pictures has the defaults of the code."""

from __future__ import annotations

import re

import yaml

from classifeed_domain.topics import PICTURES_EVENTS, declared
from classifeed_pictures.jobs.backup import RESTORE, TASK
from classifeed_pictures.settings import PicturesSettings
from tests.docs.pages import ROOT

PAGE = re.sub(r"\s+", " ", (ROOT / "docs/how-to/restore-pictures.md").read_text("utf-8"))


def test_settings_have_their_defaults() -> None:
    for name in ("backup_s", "backups_kept"):
        default = PicturesSettings.model_fields[name].default
        assert f"`CLASSIFEED_PICTURES_{name.upper()}` ({default})" in PAGE
    assert PicturesSettings.model_fields["backup_s"].default == 3600
    assert PAGE.startswith("# Restore pictures Every hour")


def test_the_alert_and_what_kafka_keeps_are_as_declared() -> None:
    alerts = yaml.safe_load((ROOT / "helm/pictures/values.yaml").read_text("utf-8"))["alerts"]
    assert f"older than {alerts['backupHours']} hours (`alerts.backupHours`" in PAGE
    assert f"keeps them for {declared(PICTURES_EVENTS).retention_ms // 86_400_000} days" in PAGE


def test_jobs_have_their_names() -> None:
    assert {TASK, RESTORE} == set(re.findall(r"--queue (pictures\.\w+)", PAGE))
