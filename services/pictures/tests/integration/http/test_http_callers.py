"""Permissions over HTTP: with CLASSIFEED_HTTP_AUTH=on a token is required, without it any caller on this machine may
call.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from classifeed_common.auth import KeyStore

from ..picture_host import jpeg

URL = "https://shop.example/1.jpg"
PUT = "/market/put_picture"
SHOP = "/shops/17/pictures"


@pytest.fixture(params=["on", "off"])
def http_auth(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def options(keys: KeyStore, http_auth: str) -> dict[str, Any]:
    return {"keys_dir": keys.directory, "http_auth": http_auth}


async def _call(http: httpx.AsyncClient, token: str = "") -> dict[str, httpx.Response]:
    """Call all routes that need permission, and return the responses; uploads come first."""
    headers = {"Content-Type": "image/jpeg"} | ({"Authorization": f"Bearer {token}"} if token else {})
    form_headers = {name: value for name, value in headers.items() if name != "Content-Type"}
    return {
        "put": await http.post(PUT, params={"url": URL}, content=jpeg(), headers=headers),
        "shop": await http.post(SHOP, content=jpeg(2), headers=headers),
        "form": await http.post(SHOP, files={"picture": ("a.jpg", jpeg(2), "image/jpeg")}, headers=form_headers),
        "state": await http.get("/state", params={"url": URL}, headers=headers),
        "states": await http.post("/state", json=[URL], headers=form_headers),
    }


async def test_callers_need_tokens_where_the_setting_says_so_and_pictures_are_open(
    http: httpx.AsyncClient, keys: KeyStore, http_auth: str
) -> None:
    token = keys.issue("operator", "pictures")
    if http_auth == "on":
        for response in (await _call(http)).values():
            assert (response.status_code, response.json()["reason"]) == (401, "TICKET_MISSING")
            assert "`Authorization: Bearer <token>`" in response.json()["detail"]
        for wrong in (f"{token[:-4]}AAAA", keys.issue("operator", "offers"), "no-token"):
            for response in (await _call(http, wrong)).values():
                assert response.status_code == 401, response.text
                assert response.json()["detail"].count(" ") > 3
        # Offers may read but not upload.
        of_offers = await _call(http, keys.issue("offers", "pictures"))
        assert {name: response.status_code for name, response in of_offers.items()} == {
            "put": 403, "shop": 403, "form": 403, "state": 404, "states": 200,
        }  # fmt: skip
        assert "offers" in of_offers["put"].json()["detail"]
    taken = await _call(http, token if http_auth == "on" else "")
    assert {name: response.status_code for name, response in taken.items()} == dict.fromkeys(taken, 200)
    info = taken["put"].json()
    for size in ("card", "orig"):
        assert (await http.get(f"/get/{info['namespace']}/{info['group_id']}/{info['name']}/{size}")).status_code == 200
