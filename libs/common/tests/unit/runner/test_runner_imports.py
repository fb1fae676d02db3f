"""Modules that a service loads before it builds anything."""

from __future__ import annotations

from classifeed_devkit.testing.imports import loaded_by


def test_a_service_without_files_does_not_load_the_client_of_the_object_store() -> None:
    loaded = loaded_by("classifeed_common.runner", "classifeed_common.runner.parts")
    assert "classifeed_common.runner.parts" in loaded
    assert loaded & {"minio", "urllib3", "sqlalchemy", "lxml"} == set()
