"""The service table, and values that are derived from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from classifeed_cli.platform.installation import Installation
from classifeed_cli.platform.planning.service_table import TABLE_VARIABLE, ServiceTable


def test_a_knob_with_a_star_is_for_each_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "services.toml"
    table.write_text(
        '[services.api]\npackage = "a"\n[services.echo]\npackage = "e"\n[knobs]\nALL = ["CLASSIFEED_*_LEVEL", "OWN"]\n'
    )
    monkeypatch.setenv(TABLE_VARIABLE, str(table))
    assert ServiceTable.load().knobs == {"ALL": ("CLASSIFEED_API_LEVEL", "CLASSIFEED_ECHO_LEVEL", "OWN")}
    monkeypatch.setenv("CLASSIFEED_ECHO_ADDRESS", "echo:1")
    remote = Installation.find(None, address="suite:9090")
    assert remote.grpc == {"api": "suite:9090", "echo": "echo:1"}


def test_no_process_of_the_machine_decides_about_texts_without_a_token() -> None:
    """Fails where `up` judges texts in `testing`, whose callbacks need no token."""
    services = ServiceTable.load().services
    settings = services["moderation"].settings
    assert settings["VERDICT_ENVIRONMENT"] == "stable"
    assert "TESTING_REQUESTS_S" not in settings
    assert "classifeed/stable" in services["cleanweb"].settings["RECEIVERS"]
