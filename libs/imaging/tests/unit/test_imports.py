"""The imports of the decoding process, which is restarted after each picture that kills it."""

from __future__ import annotations

from classifeed_devkit.testing.imports import loaded_by


def test_the_process_that_decodes_loads_nothing_of_its_pool() -> None:
    loaded = loaded_by("classifeed_imaging.processes.worker")
    assert "classifeed_imaging.pipeline" in loaded
    assert loaded & {"asyncio", "structlog", "grpc", "psycopg", "classifeed_imaging.processes.pool"} == set()
