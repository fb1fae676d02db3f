"""The robots.txt of hosts is obeyed if the setting is on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from classifeed_devkit.testing.recovery import until

from ..conftest import Service
from ..picture_host import PictureHost, jpeg


@pytest.fixture
def options() -> dict[str, Any]:
    return {"obey_robots": True}


async def test_what_is_disallowed_is_not_requested_and_the_rules_are_read_once(
    service: Service, host: PictureHost
) -> None:
    host.pictures["/robots.txt"] = b"User-agent: *\nDisallow: /private/*.jpg$\n"
    allowed = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(6)]
    await service.request([host.put("/private/1.jpg", jpeg(9)), *allowed])
    results = {result.url: result for result in await service.results(7)}
    refused = results.pop(host.url("/private/1.jpg"))
    assert refused.failure.code == "PICTURE_ROBOTS_DISALLOWED"
    assert all(result.HasField("info") for result in results.values())
    assert (host.count("/private/1.jpg"), host.count("/robots.txt")) == (0, 1)


@pytest.mark.parametrize("rules", [None, b""], ids=["none", "empty"])
async def test_a_host_without_rules_allows_everything(service: Service, host: PictureHost, rules: bytes | None) -> None:
    if rules is not None:
        host.pictures["/robots.txt"] = rules
    await service.request([host.put("/1.jpg", jpeg())])
    [result] = await service.results(1)
    assert result.HasField("info")
    assert host.count("/robots.txt") == 1


async def test_a_host_whose_rules_cannot_be_read_is_left_alone_and_tried_again(
    service: Service, host: PictureHost
) -> None:
    async def fail(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    host.responses["/robots.txt"] = fail
    await service.request([host.put("/1.jpg", jpeg())])

    async def has_failed() -> bool:
        return bool(await service.rows("SELECT 1 FROM pictures WHERE failed_attempts = 1 AND retry_at IS NOT NULL"))

    await until(has_failed)
    assert (host.count("/1.jpg"), host.count("/robots.txt")) == (0, 1)
    del host.responses["/robots.txt"]
    await service.rows("UPDATE robots_rules SET fresh_until = now() RETURNING 1")
    await service.rows(
        "UPDATE pictures SET next_attempt_at = now(), retry_at = now(), revision = revision + 1 RETURNING 1"
    )
    [result] = await service.results(1)
    assert result.HasField("info")
