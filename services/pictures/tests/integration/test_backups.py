"""Backups of the state with real PostgreSQL, Kafka and S3: made while events flow, restored, and equal afterwards."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import grpc
import pytest

from classifeed.jobs.v1.job_pb2 import JOB_STATUS_FAILED, JOB_STATUS_SUCCEEDED
from classifeed.pictures.v1.picture_service_pb2 import (
    DeletePicturesRequest,
    ListBackupsRequest,
    PutPictureRequest,
    RestoreBackupRequest,
)
from classifeed_common.testing.recovery import until
from classifeed_pictures.app.measure_backups import needed_grace_s
from classifeed_pictures.domain.backups import name_at

from .backups import bucket_of, change_file, destroy, dump, ended, make_backup, restore, snapshot
from .conftest import Service
from .picture_host import PictureHost, jpeg


async def test_a_restored_state_equals_an_undisturbed_one(service: Service, host: PictureHost) -> None:
    urls = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(16)]
    missing = host.url("/missing.jpg")
    await service.request(urls[:8], prefix="a")
    await service.request([urls[0], missing], namespace="shops", prefix="b")
    await service.pictures.PutPicture(iter([PutPictureRequest(url="by-hand", namespace="shops", data=jpeg(99))]))
    await service.results(10)

    async def go_on() -> None:
        await service.request(urls[8:12], prefix="c")
        await service.results(4)
        await service.pictures.DeletePictures(DeletePicturesRequest(urls=[urls[1], urls[11]]))

    name = await make_backup(service, between=go_on)
    await service.request(urls[10:], prefix="d")
    await service.request(urls[4:6], namespace="shops", prefix="e")
    await service.pictures.DeletePictures(DeletePicturesRequest(urls=[urls[2]]))
    await service.results(8)

    async def is_quiet() -> bool:
        found = await snapshot(service)
        gone = {urls[1], urls[2]}
        return (
            not gone & set(found["states"])
            and len(found["stored"]) == 14 + 3 + 1
            and await service.rows("SELECT 1 FROM outbox") == []
        )

    await until(is_quiet)
    undisturbed = await snapshot(service)
    await destroy(service)
    assert (await restore(service, name)).status == JOB_STATUS_SUCCEEDED
    # What comes now is behind all that is applied again.
    await service.request([urls[3]], prefix="z")

    async def is_equal() -> bool:
        return await snapshot(service) == undisturbed

    try:
        await until(is_equal, within_s=30)
    except AssertionError:
        assert await snapshot(service) == undisturbed
        raise
    for sha256, _ in await service.rows("SELECT sha256, ref_count FROM blobs WHERE ref_count > 0"):
        await service.blobs.verify(sha256)
