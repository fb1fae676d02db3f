"""Every HTTP route of every service refuses requests from web pages; the tests include new routes automatically."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from tests.contract.http.http_services import OWN, SERVICES, built, methods_of, routes_of

from classifeed_common.http.public import PublicRoute
from classifeed_common.http.uploads import UploadRoute

# Header values and the outcome of the request, for all routes.
FROM_PAGES: Mapping[str, tuple[Mapping[str, str], int, str]] = {
    "rebound": ({"host": "evil.example", "origin": "http://evil.example"}, 403, "HOST_NOT_ALLOWED"),
    "rebound, read": ({"host": "evil.example:8081", "sec-fetch-site": "same-origin"}, 403, "HOST_NOT_ALLOWED"),
    "script": ({"origin": "http://evil.example"}, 403, "ORIGIN_NOT_ALLOWED"),
    "tag": ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403, "ORIGIN_NOT_ALLOWED"),
}
TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")


def paths_of(app: Starlette) -> list[tuple[str, str]]:
    """Return each method and path."""
    return [(method, re.sub(r"{[^}]+}", "1", route.path)) for route in routes_of(app) for method in methods_of(route)]


@pytest.mark.parametrize("service", SERVICES)
async def test_every_route_refuses_what_web_pages_send(tmp_path: Path, service: str) -> None:
    async with built(service, tmp_path) as runner:
        await check_routes(runner.http_app(runner.role_names))


async def check_routes(app: Starlette) -> None:
    paths = paths_of(app)
    public = {re.sub(r"{[^}]+}", "1", route.path) for route in app.routes if isinstance(route, PublicRoute)}
    uploads = {re.sub(r"{[^}]+}", "1", route.path) for route in app.routes if isinstance(route, UploadRoute)}
    assert {("GET", "/health/live"), ("GET", "/metrics"), ("GET", "/backlog")} <= set(paths)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{OWN}") as client:

        async def refused(method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str]:
            response = await client.request(method, path, headers=headers)
            assert not {name for name in response.headers if name.startswith("access-control-")}
            return response.status_code, response.json()["reason"]

        for method, path in paths:
            for headers, status, reason in FROM_PAGES.values():
                if path in public and reason == "ORIGIN_NOT_ALLOWED":
                    continue  # pages of any site may show public content
                assert await refused(method, path, headers) == (status, reason), (method, path)
            for content_type in TYPES if method != "GET" else ():
                if path in uploads and content_type.startswith("multipart/"):
                    continue  # a form with a file; a form of another site has its origin
                found = await refused(method, path, {"content-type": content_type})
                assert found == (415, "CONTENT_TYPE_NOT_JSON"), (method, path)
        assert (await client.get("/health/live")).status_code == 200


async def test_pages_reach_nothing_in_a_process_without_serve_either(tmp_path: Path) -> None:
    async with built("loader", tmp_path) as runner:
        transport = httpx.ASGITransport(runner.http_app(["work"]))
        async with httpx.AsyncClient(transport=transport, base_url="http://evil.example") as client:
            assert (await client.get("/metrics")).status_code == 403
