"""Settings come from variables with the service's prefix."""

from __future__ import annotations

import pytest

from classifeed_moderation.settings import ModerationSettings


def test_variables_have_the_prefix_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIFEED_MODERATION_ENVIRONMENT", "staging")
    assert (ModerationSettings.service_name(), ModerationSettings().environment) == ("moderation", "staging")
