"""Every HTTP route of every service refuses what web pages send; a new route is among them as soon as it is served."""

from __future__ import annotations

import importlib
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.routing import Route

from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_common.http.public import PublicRoute
from classifeed_common.http.uploads import UploadRoute
from classifeed_common.runner import ServiceRunner
from classifeed_common.settings import ServiceSettings

SERVICES = list(ServiceTable.load().services)
OWN = "127.0.0.1:8081"
# Header values and what becomes of the request, whichever route it is for.
FROM_PAGES: Mapping[str, tuple[Mapping[str, str], int, str]] = {
    "rebound": ({"host": "evil.example", "origin": "http://evil.example"}, 403, "HOST_NOT_ALLOWED"),
    "rebound, read": ({"host": "evil.example:8081", "sec-fetch-site": "same-origin"}, 403, "HOST_NOT_ALLOWED"),
    "script": ({"origin": "http://evil.example"}, 403, "ORIGIN_NOT_ALLOWED"),
    "tag": ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403, "ORIGIN_NOT_ALLOWED"),
}
TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")


def settings_of(service: str, folder: Path) -> ServiceSettings:
    module = importlib.import_module(f"classifeed_{service}.settings")
    cls: type[ServiceSettings] = getattr(module, f"{service.title()}Settings")
    given: dict[str, Any] = {name: "127.0.0.1:1" for name, field in cls.model_fields.items() if field.is_required()}
    given |= {"http_listen": OWN, "kafka_bootstrap": "127.0.0.1:1", "s3_endpoint": "http://127.0.0.1:1"}
    given |= {"data_dir": folder, "texts_approved_by_setting": True, "keys_dir": folder / "keys"}
    return cls(**{name: value for name, value in given.items() if name in cls.model_fields})


@pytest_asyncio.fixture
async def built(tmp_path: Path) -> AsyncIterator[Callable[[str], ServiceRunner]]:
    """Build services that are never started."""
    runners: list[ServiceRunner] = []

    def build(service: str) -> ServiceRunner:
        runner: ServiceRunner = importlib.import_module(f"classifeed_{service}.bootstrap").build(
            settings_of(service, tmp_path)
        )
        runners.append(runner)
        return runner

    yield build
    for runner in runners:
        await runner._on_stop()


def paths_of(app: Starlette) -> list[tuple[str, str]]:
    """Return each method and path; what is no plain route needs a thought of its own, and fails."""
    assert all(type(route) in {Route, UploadRoute, PublicRoute} for route in app.routes), app.routes
    routes = [route for route in app.routes if isinstance(route, Route)]
    return [
        (method, re.sub(r"{[^}]+}", "x", route.path))
        for route in routes
        for method in sorted((route.methods or set()) - {"HEAD"})  # what GET responds, without its body
    ]


@pytest.mark.parametrize("service", SERVICES)
async def test_every_route_refuses_what_web_pages_send(built: Callable[[str], ServiceRunner], service: str) -> None:
    runner = built(service)
    app = runner.http_app(runner.role_names)
    paths = paths_of(app)
    public = {re.sub(r"{[^}]+}", "x", route.path) for route in app.routes if isinstance(route, PublicRoute)}
    uploads = {re.sub(r"{[^}]+}", "x", route.path) for route in app.routes if isinstance(route, UploadRoute)}
    assert {("GET", "/health/live"), ("GET", "/metrics"), ("GET", "/backlog")} <= set(paths)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{OWN}") as client:

        async def refused(method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str]:
            response = await client.request(method, path, headers=headers)
            assert not {name for name in response.headers if name.startswith("access-control-")}
            return response.status_code, response.json()["reason"]

        for method, path in paths:
            for headers, status, reason in FROM_PAGES.values():
                if path in public and reason == "ORIGIN_NOT_ALLOWED":
                    continue  # pages of any site show what is there
                assert await refused(method, path, headers) == (status, reason), (method, path)
            for content_type in TYPES if method != "GET" else ():
                if path in uploads and content_type.startswith("multipart/"):
                    continue  # a form with a file; that of another site has its origin
                found = await refused(method, path, {"content-type": content_type})
                assert found == (415, "CONTENT_TYPE_NOT_JSON"), (method, path)
        assert (await client.get("/health/live")).status_code == 200


async def test_pages_reach_nothing_in_a_process_without_serve_either(built: Callable[[str], ServiceRunner]) -> None:
    app = built("loader").http_app(["work"])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://evil.example") as client:
        assert (await client.get("/metrics")).status_code == 403
