"""What everybody may import loads no server's driver."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import classifeed_common
from classifeed_devkit.testing.imports import loaded_by

_PACKAGES = ("clock", "enum_names", "errors", "faults", "ids", "pacing", "processes", "splitting", "telemetry", "zones")
_DRIVERS = {"alembic", "confluent_kafka", "grpc", "minio", "psycopg", "psycopg_pool", "sqlalchemy", "starlette"}
# Metrics as HTTP routes are for services alone.
_FOR_SERVICES = {"classifeed_common.telemetry.metrics"}


def test_the_lowest_layer_needs_no_server() -> None:
    top = Path(classifeed_common.__file__).parent
    modules = {
        each.name
        for each in pkgutil.walk_packages([str(top)], "classifeed_common.")
        if each.name.split(".")[1] in _PACKAGES
    }
    assert len(modules) > 20
    assert loaded_by(*sorted(modules - _FOR_SERVICES)) & _DRIVERS == set()
