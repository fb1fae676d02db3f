"""Services that are built but not started, for tests of all their HTTP routes."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.routing import Route

from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_common.http.public import PublicRoute
from classifeed_common.http.uploads import UploadRoute
from classifeed_common.runner import ServiceRunner
from classifeed_common.settings import ServiceSettings

SERVICES: Final = list(ServiceTable.load().services)
OWN: Final = "127.0.0.1:8081"


def settings_of(service: str, folder: Path) -> ServiceSettings:
    """Return settings that suffice to build a service."""
    module = importlib.import_module(f"classifeed_{service}.settings")
    cls: type[ServiceSettings] = getattr(module, f"{service.title()}Settings")
    given: dict[str, Any] = {name: "127.0.0.1:1" for name, field in cls.model_fields.items() if field.is_required()}
    given |= {"http_listen": OWN, "kafka_bootstrap": "127.0.0.1:1", "s3_endpoint": "http://127.0.0.1:1"}
    given |= {"data_dir": folder, "texts_approved_by_setting": True, "keys_dir": folder / "keys"}
    return cls(**{name: value for name, value in given.items() if name in cls.model_fields})


@asynccontextmanager
async def built(service: str, folder: Path) -> AsyncIterator[ServiceRunner]:
    """Yield a service that is built but not started."""
    runner: ServiceRunner = importlib.import_module(f"classifeed_{service}.bootstrap").build(
        settings_of(service, folder)
    )
    try:
        yield runner
    finally:
        await runner._on_stop()


def routes_of(app: Starlette) -> list[Route]:
    """Return the routes; fail for a kind of route that these tests do not cover."""
    assert all(type(route) in {Route, UploadRoute, PublicRoute} for route in app.routes), app.routes
    return [route for route in app.routes if isinstance(route, Route)]


def methods_of(route: Route) -> list[str]:
    """Return the methods of a route without HEAD, which follows from GET."""
    return sorted((route.methods or set()) - {"HEAD"})
