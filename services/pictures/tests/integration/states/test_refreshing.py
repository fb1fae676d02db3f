"""Refreshes of held pictures, through all roles: requests to their hosts, and results for recipients."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed_devkit.testing.recovery import until

from ..conftest import Service
from ..picture_host import PictureHost, jpeg
from ..samples import growth

_DUE = "UPDATE pictures SET refresh_at = now(), next_attempt_at = now(), revision = revision + 1 RETURNING 1"


async def _refreshed(service: Service, attempt: int) -> None:
    """Return when a refresh after an attempt has been ordered and has its result."""

    async def has_come() -> bool:
        rows = await service.rows(
            "SELECT 1 FROM pictures WHERE attempt > %s AND next_attempt_at > now() + interval '2 hours'", attempt
        )
        return bool(rows)

    await until(has_come)


async def _attempt(service: Service) -> int:
    [(attempt,)] = await service.rows("SELECT attempt FROM pictures")
    return int(attempt)


async def test_an_unchanged_picture_is_requested_once_in_its_time_and_not_decoded(
    service: Service, host: PictureHost
) -> None:
    url = host.put("/1.jpg", jpeg())
    host.headers["Cache-Control"] = "max-age=7776000"
    decoded = growth("decode_seconds_count", outcome="decoded")
    unchanged = growth("loads_total", code="UNCHANGED")
    await service.request([url])
    await service.results(1)
    assert (host.count("/1.jpg"), host.conditional) == (1, [])
    for number in range(1, 3):
        attempt = await _attempt(service)
        await service.rows(_DUE)
        await _refreshed(service, attempt)
        assert host.conditional == ["/1.jpg"] * number
    assert host.count("/1.jpg") == 3
    assert (decoded(), unchanged()) == (1, 2)
    [(is_believed,)] = await service.rows("SELECT refresh_at > now() + interval '89 days' FROM pictures")
    assert is_believed
    await service.request([url], prefix="again-")
    [result] = await service.results(1)
    assert result.reference == "again-0"


async def test_the_same_bytes_of_a_host_without_validators_are_not_decoded(service: Service, host: PictureHost) -> None:
    host.has_etags = False
    url = host.put("/1.jpg", jpeg())
    decoded = growth("decode_seconds_count", outcome="decoded")
    await service.request([url])
    await service.results(1)
    attempt = await _attempt(service)
    await service.rows(_DUE)
    await _refreshed(service, attempt)
    assert (host.count("/1.jpg"), host.conditional, decoded()) == (2, [], 1)


async def test_a_changed_picture_takes_the_place_of_the_old_one_for_all_who_know_that(
    service: Service, host: PictureHost
) -> None:
    url = host.put("/1.jpg", jpeg(1))
    await service.request([url])
    [old] = await service.results(1)
    await service.request([url], prefix="again-")
    await service.results(1)
    host.put("/1.jpg", jpeg(2))
    await service.rows(_DUE)
    new = await service.results(2)
    assert {result.reference for result in new} == {"0", "again-0"}
    assert len(new) == 2
    assert all(result.attempt > old.attempt and result.info.name != old.info.name for result in new)

    async def is_alone() -> bool:
        return await service.rows("SELECT name FROM stored_pictures") == [(new[0].info.name,)]

    await until(is_alone)
    assert host.count("/1.jpg") == 2


async def test_a_picture_that_its_host_lost_stays(service: Service, host: PictureHost) -> None:
    url = host.put("/1.jpg", jpeg())
    await service.request([url])
    [old] = await service.results(1)
    attempt = await _attempt(service)
    del host.pictures["/1.jpg"]
    await service.rows(_DUE)
    await _refreshed(service, attempt)
    await service.request([url], prefix="again-")
    [result] = await service.results(1)
    assert (result.reference, result.info.name) == ("again-0", old.info.name)
    assert host.count("/1.jpg") == 2


async def test_a_picture_that_may_not_be_shown_is_not_kept(service: Service, host: PictureHost) -> None:
    url = host.put("/1.jpg", jpeg())
    await service.request([url])
    [old] = await service.results(1)
    host.headers["X-Robots-Tag"] = "noimageindex"
    await service.rows(_DUE)
    [withdrawn] = await service.results(1)
    assert (withdrawn.reference, withdrawn.failure.code) == ("0", "PICTURE_NOINDEX")
    assert withdrawn.attempt > old.attempt

    async def is_gone() -> bool:
        return await service.rows("SELECT count(*) FROM stored_pictures") == [(0,)]

    await until(is_gone)
    await service.request([host.put("/2.jpg", jpeg(2))], prefix="other-")
    [refused] = await service.results(1)
    assert (refused.reference, refused.failure.code) == ("other-0", "PICTURE_NOINDEX")


class TestWithoutRefreshes:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return {"refresh_days": 0}

    async def test_none_is_planned(self, service: Service, host: PictureHost) -> None:
        await service.request([host.put("/1.jpg", jpeg())])
        await service.results(1)
        assert await service.rows("SELECT refresh_at, next_attempt_at FROM pictures") == [(None, None)]
        assert await service.rows("SELECT recipient FROM settled_requests") == [(service.recipient,)]
