"""The rules of canonical URLs change in a running service: nothing is lost or downloaded again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed.pictures.v1.picture_service_pb2 import (
    BatchGetStatesRequest,
    DeletePicturesRequest,
    RequestPicturesRequest,
)
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.recovery import until
from classifeed_pictures.parts.tuning import Tuning

from ..conftest import Service
from ..picture_host import PictureHost, jpeg

pytestmark = pytest.mark.kafka
# Settled requests move to the present key: their number per URL, and the number under other keys.
SETTLED = """
SELECT count(*) FILTER (WHERE r.requested_url LIKE '%%/held.jpg?ref=a' AND r.namespace = 'offers'),
       count(*) FILTER (WHERE r.requested_url LIKE '%%/held.jpg?ref=a' AND r.namespace = 'shops'),
       count(*) FILTER (WHERE r.requested_url LIKE '%%/held.jpg?ref=b'),
       count(*) FILTER (WHERE r.requested_url LIKE '%%/slow.jpg?ref=a'),
       count(*) FILTER (WHERE r.requested_url LIKE '%%/missing.jpg?ref=a')
FROM settled_requests r
JOIN pictures p ON p.url_hash = r.url_hash
HAVING count(*) = (SELECT count(*) FROM settled_requests)
"""
_OPEN = {"strip_fragment": True, "strip_www": False, "tracking_parameters": []}
_STRICT = _OPEN | {"tracking_parameters": ["ref"]}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "canonical.yaml"
    path.write_text(yaml.safe_dump(_OPEN))
    return path


@pytest.fixture
def options(rules: Path) -> dict[str, Any]:
    return {"canonical_rules": str(rules)}


@pytest.fixture
def tuning() -> Tuning:
    return Tuning(rekey_s=1, rekey_settle_s=1)


@pytest.fixture
async def http(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    async with loopback_client(f"http://{service.http_address}") as client:
        yield client


async def _bytes_of(http: httpx.AsyncClient, info: PictureInfo) -> bytes:
    response = await http.get(f"/get/{info.namespace}/{info.group_id}/{info.name}/orig")
    assert response.status_code == 200, response.text
    return response.content


async def _infos(service: Service, url: str) -> dict[str, PictureInfo]:
    response = await service.pictures.BatchGetStates(BatchGetStatesRequest(urls=[url]))
    return {info.namespace: info for info in response.states[0].pictures}


async def _is_rekeyed(service: Service) -> bool:
    found = await service.rows("SELECT rekeyed_at IS NOT NULL FROM canonical_rules ORDER BY rules_id DESC LIMIT 1")
    return found == [(True,)]


async def _change(service: Service, path: Path, document: dict[str, Any]) -> None:
    """Change the rules, and wait until no state has a key that they do not make."""
    [(before,)] = await service.rows("SELECT coalesce(max(rules_id), 0) FROM canonical_rules")
    path.write_text(yaml.safe_dump(document))

    async def is_over() -> bool:
        [(newest,)] = await service.rows("SELECT coalesce(max(rules_id), 0) FROM canonical_rules")
        return newest > before and await _is_rekeyed(service)

    await until(is_over)


async def _keys(service: Service) -> set[str]:
    return {url.rpartition("/")[2] for (url,) in await service.rows("SELECT url FROM pictures")}


async def test_pictures_and_requests_move_to_the_new_keys(
    service: Service, host: PictureHost, http: httpx.AsyncClient, rules: Path
) -> None:
    await until(lambda: _is_rekeyed(service))
    held = host.put("/held.jpg?ref=a", jpeg(1))
    twin = host.put("/held.jpg?ref=b", jpeg(2))
    by_hand = host.put("/hand.jpg?ref=a", jpeg(3))
    missing = host.url("/missing.jpg?ref=a")
    host.put("/slow.jpg?ref=a", jpeg(4))
    # On separate hosts, since URLs of one host wait for each other if their keys have the same place.
    slow = host.url("/slow.jpg?ref=a", host="localhost")
    released = asyncio.Event()

    async def respond_late(writer: asyncio.StreamWriter) -> None:
        await released.wait()
        await host._respond(writer, jpeg(4), b"")

    await service.request([held, twin, missing])
    await service.request([held], namespace="shops")
    given = {
        (result.url, result.namespace): result.info for result in await service.results(4) if result.HasField("info")
    }
    assert len(given) == 3
    await service.pictures.RequestPictures(RequestPicturesRequest(urls=[by_hand], namespace="offers"))
    await until(lambda: _has(service, by_hand))
    host.responses["/slow.jpg?ref=a"] = respond_late
    await service.request([slow], prefix="slow-")
    await until(lambda: host.count("/slow.jpg?ref=a") == 1)
    host.put("/missing.jpg", jpeg(5))

    rules.write_text(yaml.safe_dump(_STRICT))
    # The request that was permanently refused before is sent again, under the present key.
    [found] = await service.results(1)
    assert (found.url, found.reference, found.info.width) == (missing, "2", 640)
    released.set()
    [late] = await service.results(1)
    assert (late.url, late.reference, late.info.width) == (slow, "slow-0", 640)
    given[slow, "offers"] = late.info
    await until(lambda: _is_rekeyed(service))

    assert await _keys(service) == {"held.jpg", "hand.jpg", "missing.jpg", "slow.jpg"}
    assert await service.rows("SELECT count(*) FROM requests_in_flight") == [(0,)]
    assert await service.rows("SELECT url LIKE '%%/hand.jpg' FROM pictures WHERE is_put") == [(True,)]
    contents = {held: jpeg(1), twin: jpeg(2), slow: jpeg(4)}
    for (url, _), info in given.items():
        assert await _bytes_of(http, info) == contents[url], "published addresses stay"
    moved = await _infos(service, held)
    assert moved.keys() == {"offers", "shops"}
    assert {await _bytes_of(http, info) for info in moved.values()} <= {jpeg(1), jpeg(2)}
    assert moved["offers"].name not in {info.name for info in given.values()}
    requested = sorted(path for _, path in host.requests)
    assert requested == sorted(
        [
            "/held.jpg?ref=a",
            "/held.jpg?ref=b",
            "/hand.jpg?ref=a",
            "/missing.jpg?ref=a",
            "/missing.jpg",
            "/slow.jpg?ref=a",
        ]
    )
    assert await service.rows(SETTLED) == [(1, 1, 1, 1, 1)]
    counted = "SELECT namespace, sum(pictures), sum(bytes) FROM namespace_usage GROUP BY namespace ORDER BY 1"
    kept = """
        SELECT namespace, count(*), sum(total_bytes) FROM stored_pictures
        WHERE NOT is_alias GROUP BY namespace ORDER BY 1
    """
    assert await service.rows(counted) == await service.rows(kept)

    await service.pictures.DeletePictures(DeletePicturesRequest(urls=[held]))

    async def are_gone() -> bool:
        return not await service.rows(
            "SELECT 1 FROM blob_refs WHERE ref = ANY (%s)",
            [f"{info.namespace}/{info.group_id}/{info.name}" for (url, _), info in given.items() if url != slow],
        )

    await until(are_gone)
    assert await service.rows("SELECT count(*) FROM stored_pictures WHERE is_alias") == [(2,)], "slow and hand"


async def _has(service: Service, url: str) -> bool:
    return bool(await _infos(service, url))


async def test_rules_that_come_back_lose_nothing(
    service: Service, host: PictureHost, http: httpx.AsyncClient, rules: Path
) -> None:
    await until(lambda: _is_rekeyed(service))
    url = host.put("/1.jpg?ref=a", jpeg(1))
    await service.request([url])
    [before] = await service.results(1)
    await _change(service, rules, _STRICT)
    assert await _keys(service) == {"1.jpg"}
    await _change(service, rules, _OPEN)
    assert await _bytes_of(http, before.info) == jpeg(1)
    await service.request([url], prefix="again-")
    [again] = await service.results(1)
    assert again.info.name == before.info.name, "the same bytes of the same URL"
    assert await _keys(service) == {"1.jpg", "1.jpg?ref=a"}
    assert await service.rows("SELECT count(*) FROM stored_pictures WHERE is_alias") == [(0,)]
    await _change(service, rules, _STRICT)
    assert await _keys(service) == {"1.jpg"}
    assert await _bytes_of(http, before.info) == jpeg(1)
    assert host.count("/1.jpg?ref=a") == 2
    assert host.count("/1.jpg") == 0
