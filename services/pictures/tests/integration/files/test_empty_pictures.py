"""An empty response of a host is a failure that is retried soon."""

from __future__ import annotations

from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_devkit.testing.recovery import until

from ..conftest import Service
from ..picture_host import PictureHost, jpeg


async def test_an_empty_picture_is_a_failure_in_words_and_its_success_follows(
    service: Service, host: PictureHost
) -> None:
    url = host.put("/1.jpg", b"")
    await service.request([url])
    await until(lambda: _has_failed(service))
    [(packed, waits_s)] = await service.rows(
        "SELECT failure, extract(epoch FROM next_attempt_at - now()) FROM pictures WHERE failed_attempts = 1"
    )
    failure = LoadFailure.FromString(packed)
    assert (failure.code, failure.http_status) == ("EMPTY_RESPONSE", 200)
    assert "empty file" in failure.message
    assert "publish the picture again" in failure.message
    assert waits_s < 120, "the host may be writing the file: as after a broken connection"
    host.put("/1.jpg", jpeg())
    await service.rows(
        "UPDATE pictures SET next_attempt_at = now(), retry_at = now(), revision = revision + 1 RETURNING 1"
    )
    [result] = await service.results(1)
    assert result.HasField("info")


async def _has_failed(service: Service) -> bool:
    return bool(await service.rows("SELECT 1 FROM pictures WHERE failed_attempts = 1 AND retry_at IS NOT NULL"))
