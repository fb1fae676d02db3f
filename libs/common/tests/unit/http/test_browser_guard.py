"""Requests that an HTTP server accepts: those of programs, and of the service's pages."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from classifeed_common.http.browser_guard import AllowedHosts, BrowserGuard
from classifeed_common.http.public import PublicRoute
from classifeed_common.http.uploads import UploadRoute
from classifeed_common.runner.listening import allowed_hosts
from classifeed_devkit.testing.rpc import settings_for

LOOPBACK = AllowedHosts.of([], is_loopback=True, setting="")
CLUSTER = AllowedHosts.of(["shop-loader", " Shop-Loader.shop.svc "], is_loopback=False, setting="HOSTS")
JSON = {"content-type": "application/json"}


async def send(
    hosts: AllowedHosts, method: str = "GET", path: str = "/x", *, is_upload: bool = False, **options: Any
) -> httpx.Response:
    async def respond(_: Request) -> Response:
        return JSONResponse({"reason": "passed"})

    uploads = [UploadRoute("/x", respond, methods=["POST"])] if is_upload else []
    route = Route("/x", respond, methods=["GET", "POST", "DELETE"])
    public = [PublicRoute("/public/{number}", respond, methods=["GET"])]
    routes = [*uploads, *public, route]
    app = Starlette(routes=routes, middleware=[Middleware(BrowserGuard, hosts, routes)])
    options["headers"] = {"host": "127.0.0.1:8081"} | options.get("headers", {})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8081") as client:
        return await client.request(method, path, **options)


async def ask(
    hosts: AllowedHosts, method: str = "GET", path: str = "/x", *, is_upload: bool = False, **options: Any
) -> tuple[int, str]:
    response = await send(hosts, method, path, is_upload=is_upload, **options)
    return response.status_code, response.json()["reason"]


@pytest.mark.parametrize(
    ("host", "on_loopback", "in_cluster"),
    [
        ("127.0.0.1:8081", True, True),
        ("localhost", True, True),
        ("LOCALHOST.:80", True, True),
        ("[::1]:8081", True, True),
        ("10.1.2.3:8080", False, True),  # how kubelet and Prometheus address a pod
        ("[fd00::7]:8080", False, True),
        ("0.0.0.0:8081", False, True),
        ("shop-loader:8080", False, True),
        ("shop-loader.shop.svc", False, True),
        ("evil.example", False, False),
        ("127.0.0.1.evil.example", False, False),
        ("localhost.evil.example", False, False),
        ("127.1", False, False),
        ("2130706433", False, False),
        ("evil.example@127.0.0.1", False, False),
        ("127.0.0.1/evil.example", False, False),
        ("127.0.0.1:8081, evil.example", False, False),
        ("", False, False),
    ],
)
async def test_a_host_is_ours_or_refused(host: str, on_loopback: bool, in_cluster: bool) -> None:
    for hosts, passes in ((LOOPBACK, on_loopback), (CLUSTER, in_cluster)):
        expected = (200, "passed") if passes else (403, "HOST_NOT_ALLOWED")
        assert await ask(hosts, headers={"host": host}) == expected


@pytest.mark.parametrize(
    ("headers", "reads", "changes"),
    [
        ({}, True, True),
        ({"origin": "http://127.0.0.1:8081"}, True, True),
        ({"origin": "https://127.0.0.1:8081"}, True, True),  # behind a proxy that ends TLS
        ({"origin": "http://127.0.0.1:3000"}, False, False),
        ({"origin": "http://evil.example"}, False, False),
        ({"origin": "null"}, False, False),
        ({"origin": "file://127.0.0.1:8081"}, False, False),
        ({"sec-fetch-site": "same-origin"}, True, True),
        ({"sec-fetch-site": "none"}, True, True),
        ({"sec-fetch-site": "same-site"}, False, False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, False, False),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, True, False),
    ],
)
async def test_pages_of_other_origins_are_refused(headers: dict[str, str], reads: bool, changes: bool) -> None:
    for method, passes in (("GET", reads), ("POST", changes), ("DELETE", changes)):
        expected = (200, "passed") if passes else (403, "ORIGIN_NOT_ALLOWED")
        assert await ask(LOOPBACK, method, headers=headers) == expected


@pytest.mark.parametrize("headers", [{"origin": "https://shop.example"}, {"sec-fetch-site": "cross-site"}])
async def test_pages_of_any_site_show_what_is_public(headers: dict[str, str]) -> None:
    assert await ask(LOOPBACK, "GET", "/public/1", headers=headers) == (200, "passed")
    for method, path in (("POST", "/public/1"), ("GET", "/public"), ("GET", "/other")):
        assert await ask(LOOPBACK, method, path, headers=headers) == (403, "ORIGIN_NOT_ALLOWED")
    rebound = {**headers, "host": "evil.example"}
    assert await ask(LOOPBACK, "GET", "/public/1", headers=rebound) == (403, "HOST_NOT_ALLOWED")


async def test_a_page_under_a_name_of_the_setting_is_ours() -> None:
    assert await ask(CLUSTER, "POST", headers={"origin": "https://shop-loader.shop.svc:8443"}) == (200, "passed")


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({"content": b"{}", "headers": JSON}, True),
        ({"content": b"{}", "headers": {"content-type": "Application/JSON; charset=utf-8"}}, True),
        ({}, True),
        ({"content": b"{}"}, False),
        ({"content": b"{}", "headers": {"content-type": "text/plain"}}, False),
        ({"content": b"{}", "headers": {"content-type": "text/plain, application/json"}}, False),
        ({"headers": {"content-type": "text/plain"}}, False),
        ({"data": {"queue": "q"}}, False),
        ({"files": {"file": b"x"}}, False),
        ({"headers": {"transfer-encoding": "chunked"}}, False),
    ],
)
async def test_what_changes_something_is_json(options: dict[str, Any], passes: bool) -> None:
    expected = (200, "passed") if passes else (415, "CONTENT_TYPE_NOT_JSON")
    assert await ask(LOOPBACK, "POST", **options) == expected


def test_settings_say_what_is_allowed() -> None:
    settings = settings_for("loader").model_copy(
        update={"http_listen": "Jobs.example:80", "http_hosts": "a.example, B"}
    )
    hosts = allowed_hosts(settings)
    assert (hosts.is_loopback, hosts.names) == (False, frozenset({"jobs.example", "a.example", "b"}))
    assert hosts.setting == "CLASSIFEED_LOADER_HTTP_HOSTS"


@pytest.mark.parametrize(
    ("content_type", "is_taken"),
    [
        ("image/jpeg", True),
        ("application/octet-stream", True),
        ("multipart/form-data; boundary=x", True),
        ("text/plain;charset=UTF-8", False),
        ("application/x-www-form-urlencoded", False),
    ],
)
async def test_a_route_for_files_takes_them_and_no_other_form(content_type: str, is_taken: bool) -> None:
    headers = {"content-type": content_type}
    found = await ask(LOOPBACK, "POST", is_upload=True, headers=headers, content=b"x")
    assert found == ((200, "passed") if is_taken else (415, "CONTENT_TYPE_NOT_JSON"))
    assert await ask(LOOPBACK, "POST", headers=headers, content=b"x") == (415, "CONTENT_TYPE_NOT_JSON")
    foreign = headers | {"origin": "https://other.example"}
    found = await ask(LOOPBACK, "POST", is_upload=True, headers=foreign, content=b"x")
    assert found == (403, "ORIGIN_NOT_ALLOWED")


async def test_an_unknown_path_is_404_whatever_is_sent_there() -> None:
    for content_type in ("application/x-www-form-urlencoded", "text/plain", "application/json"):
        response = await send(LOOPBACK, "POST", "/unknown", headers={"content-type": content_type}, content=b"a=b")
        assert response.status_code == 404
    foreign = {"content-type": "text/plain", "origin": "https://evil.example"}
    assert (await send(LOOPBACK, "POST", "/unknown", headers=foreign)).status_code == 403


@pytest.mark.parametrize(
    ("is_upload", "header"),
    [(True, "`Content-Type: application/octet-stream`"), (False, "`Content-Type: application/json`")],
)
async def test_a_refusal_of_the_type_that_curl_sends_names_the_header(is_upload: bool, header: str) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    response = await send(LOOPBACK, "POST", is_upload=is_upload, headers=form, content=b"x")
    assert (response.status_code, response.json()["reason"]) == (415, "CONTENT_TYPE_NOT_JSON")
    assert header in response.json()["detail"]
