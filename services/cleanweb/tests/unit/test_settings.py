"""Settings come from variables with the service's prefix."""

from __future__ import annotations

import pytest

from classifeed_cleanweb.settings import CleanwebSettings


def test_variables_have_the_prefix_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIFEED_CLEANWEB_ENVIRONMENT", "staging")
    assert (CleanwebSettings.service_name(), CleanwebSettings().environment) == ("cleanweb", "staging")
