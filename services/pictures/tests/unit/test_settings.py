"""Settings come from variables with the service's prefix."""

from __future__ import annotations

import pytest

from classifeed_pictures.settings import PicturesSettings


def test_variables_have_the_prefix_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIFEED_PICTURES_ENVIRONMENT", "staging")
    assert (PicturesSettings.service_name(), PicturesSettings().environment) == ("pictures", "staging")
