"""Every role, including new ones, reports what blocks it in the /health of its service."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from tests.contract.http.http_services import SERVICES, settings_of

from classifeed_common.faults.lasting import LastingFault
from classifeed_common.runner import ServiceRunner

# These roles report partitions, processes or files by their state, not by repeated faults.
OTHERS = ("consume", "watch-children", "watch-decoders", "watch-rules")


async def test_every_role_names_what_blocks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each service is built with lasting faults, which its roles must report."""
    monkeypatch.setattr(LastingFault, "blocked", lambda _, name, work, effect: {name: f"{work}. {effect}"})
    found: dict[str, bool] = {}
    for service in SERVICES:
        runner: ServiceRunner = importlib.import_module(f"classifeed_{service}.bootstrap").build(
            settings_of(service, tmp_path)
        )
        await runner._on_stop()
        found |= {
            f"{service} {name}": role.blocked is not None and bool(role.blocked())
            for name, role in runner._roles.items()
            if not name.startswith(OTHERS)
        }
    assert [name for name, is_named in found.items() if not is_named] == []
    assert found.keys() >= {
        "api publish-uploads", "api verify-tasks", "indexer deliver", "loader schedule-fetches", "loader sweep",
        "moderation correct", "moderation relay", "offers publish", "pictures watch", "processor work",
        "receiver expire", "receiver trim", "searcher verify-offers",
    }  # fmt: skip
