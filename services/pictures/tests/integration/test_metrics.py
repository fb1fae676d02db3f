"""Each metric of pictures changes as documented; a metric that no test names fails the last test."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from libs.imaging.tests.samples.drawings import saved, texture
from libs.imaging.tests.samples.hostile import good, many_scans

from classifeed.pictures.v1.orders_pb2 import DeleteOrder
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed.pictures.v1.picture_service_pb2 import (
    DeletePicturesRequest,
    PictureNamespace,
    PutNamespaceRequest,
    SizeRule,
)
from classifeed_common.host_limits import HostLimits
from classifeed_common.kafka import message_of
from classifeed_devkit.testing.recovery import until
from classifeed_domain.topics import PICTURES_COPIES
from classifeed_imaging.faults import DecodeFailed
from classifeed_imaging.limits import Limits
from classifeed_imaging.model import Decoded
from classifeed_imaging.processes.pool import DecodePool
from classifeed_pictures.app.files.measure_decoding import DecodeMeter
from classifeed_pictures.app.states.measure_tables import MeasureTables
from classifeed_pictures.domain.lifecycle.events import Deletion, Look, Unused
from classifeed_pictures.metrics import METRICS
from classifeed_pictures.parts import upkeep

from .conftest import Service
from .histories import Processor, hash_of, hours_ago, info, loaded, request
from .picture_host import PictureHost, jpeg
from .samples import PREFIX, growth, value

MIB = 1 << 20


@pytest.fixture(autouse=True)
def often_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_WATCH_S", 0.1)


def grown(name: str, label: str, *names: str, prefix: str = PREFIX) -> Callable[[], dict[str, float]]:
    """Return a function that returns by how much each sample of a metric has grown since."""
    each = {label_value: growth(name, prefix, **{label: label_value}) for label_value in names}
    return lambda: {label_value: grew() for label_value, grew in each.items() if grew()}


async def put_namespace(service: Service, name: str, *sizes: SizeRule, quota_bytes: int = 0) -> None:
    namespace = PictureNamespace(name=name, sizes=sizes, formats=["jpeg"], quota_bytes=quota_bytes)
    await service.pictures.PutNamespace(PutNamespaceRequest(namespace=namespace))


async def test_what_is_on_the_way_from_a_request_to_a_stored_picture(service: Service, host: PictureHost) -> None:
    events = grown("events_total", "source", "requests", "loads")
    results = grown("results_total", "result", "stored", "failed")
    copies = grown("copies_total", "outcome", "copied", "resized", "failed", "deleted", "unchanged")
    loads = grown("loads_total", "code", "OK", "HTTP_NOT_FOUND")
    fetched = grown("downloads_total", "code", "OK", "HTTP_NOT_FOUND", prefix="classifeed_fetch_")
    of_host = growth("host_downloads_total", "classifeed_fetch_", busiest_host="127.0.0.1", code="OK")
    decoded = growth("decode_seconds_count", outcome="decoded")
    await put_namespace(service, "wide", SizeRule(name="wide", width=600, height=100, crop=True), quota_bytes=MIB)
    url = host.put("/1.jpg", jpeg())
    await service.request([url, host.url("/none.jpg")])
    await service.results(2)
    for namespace in ("shops", "wide", "nowhere"):
        await service.request([url], namespace=namespace)
        await service.results(1)
    await until(lambda: events() == {"requests": 5, "loads": 5})
    assert results() == {"stored": 3, "failed": 2}
    assert copies() == {"copied": 1, "resized": 1, "failed": 1}
    assert loads() == {"OK": 2, "HTTP_NOT_FOUND": 1}
    assert fetched() == {"OK": 1, "HTTP_NOT_FOUND": 1}
    assert (of_host(), decoded()) == (1, 2)
    await until(lambda: value("stored_pictures", picture_namespace="wide") == 1)
    assert 0 < value("stored_bytes", picture_namespace="wide") < value("quota_bytes", picture_namespace="wide") == MIB
    assert value("quota_bytes", picture_namespace="shops") == 0
    await service.pictures.DeletePictures(DeletePicturesRequest(urls=[url]))
    nothing = DeleteOrder(url_hash=hash_of(1), namespace="offers", group_id=1, name="none", attempt=1)
    await service.producer.send([message_of(PICTURES_COPIES, nothing.url_hash, nothing)])
    await until(lambda: copies().get("deleted") == 3 and copies().get("unchanged") == 1)
    await until(lambda: value("stored_pictures", picture_namespace="wide") == 0)


@pytest.fixture
async def processor(migrated_database: Callable[..., Any]) -> Processor:
    return Processor(await migrated_database("classifeed_pictures"))


async def test_requests_by_what_followed_and_orders(processor: Processor) -> None:
    requests = grown("requests_total", "outcome", "known", "download", "copy", "waiting")
    orders = grown("orders_total", "kind", "download", "refresh", "copy", "delete")
    await processor.process({1: [request()]})
    await processor.process({1: [request("2")]})
    await processor.process({1: [loaded(info(1), await processor.attempt(1))]})
    await processor.process({1: [request("3")]})
    await processor.process({1: [request(namespace="shops")]})
    assert requests() == {"download": 1, "waiting": 1, "known": 1, "copy": 1}
    await processor.process({1: [loaded(info(1, "shops"), await processor.attempt(1), "shops")]})
    look = Look(is_forced=False, at=hours_ago(0))
    await processor.process({1: [look]})
    assert orders() == {"download": 1, "copy": 1}
    await processor.rows("UPDATE pictures SET refresh_at = now() RETURNING 1")
    await processor.process({1: [look]})
    assert orders() == {"download": 1, "refresh": 1, "copy": 1}
    await processor.process({1: [Deletion("", hours_ago(-0.001))]})
    assert orders() == {"download": 1, "refresh": 1, "copy": 1, "delete": 2}


async def test_marks_are_set_cleared_and_end_with_their_picture(processor: Processor) -> None:
    marks = grown("delete_marks_total", "change", "set", "cleared", "deleted")
    await processor.store(1)
    await processor.store(2)
    await processor.rows("UPDATE pictures SET requested_at = %s RETURNING 1", hours_ago(48))
    await processor.process({number: [Unused(hours_ago(30))] for number in (1, 2)})
    assert marks() == {"set": 2}
    await processor.process({number: [Unused(hours_ago(29))] for number in (1, 2)})
    assert marks() == {"set": 2}
    await processor.process({1: [request("again")], 2: [Unused(hours_ago(1))]})
    assert marks() == {"set": 2, "cleared": 1, "deleted": 1}


async def test_the_oldest_request_and_hosts_that_refuse(processor: Processor) -> None:
    hosts = HostLimits(processor.database)
    measure = MeasureTables(processor.database, hosts)
    await processor.process({1: [request()]})
    await processor.rows("UPDATE requests_in_flight SET requested_at = %s RETURNING 1", hours_ago(2))
    await processor.rows(
        "INSERT INTO fetch_hosts (host, rate, refused_since) VALUES ('a.example', 1, %s), ('b.example', 1, %s) "
        "RETURNING 1",
        hours_ago(25),
        hours_ago(23),
    )
    await measure()
    assert value("oldest_request_seconds") == pytest.approx(7200, abs=60)
    assert value("refusing_hosts") == 1
    failure = LoadFailure(code="HTTP_NOT_FOUND", http_status=404)
    await processor.process({1: [loaded(failure, await processor.attempt(1))]})
    await processor.rows("UPDATE fetch_hosts SET refused_since = NULL RETURNING 1")
    await measure()
    assert (value("oldest_request_seconds"), value("refusing_hosts")) == (0, 0)


async def started(pool: DecodePool, data: bytes) -> asyncio.Task[Decoded]:
    """Begin to decode a slow picture, and return once a process has it."""
    await until(lambda: not pool._idle.empty())
    request = asyncio.create_task(pool.decode(data, (), ()))
    while not pool._idle.empty():
        await asyncio.sleep(0)
    return request


async def test_pictures_and_processes_by_what_became_of_them() -> None:
    pictures = grown("decode_seconds_count", "outcome", "decoded", "refused", "interrupted")
    kills = grown("decoder_kills_total", "cause", "deadline", "memory", "crash", "killed", "canceled")
    slow, large = many_scans(2400, 1600, 30), np.random.default_rng(1)
    pool = DecodePool(processes=1, deadline_s=30, limits=Limits(memory_bytes=200 * MIB), observer=DecodeMeter())
    await pool.start()
    with pytest.raises(DecodeFailed, match="NOT_A_PICTURE"):
        await pool.decode(b"<html>", (), ())
    assert (pictures(), kills()) == ({"refused": 1}, {})
    request = await started(pool, slow)
    os.kill(pool.pids[0], signal.SIGKILL)
    await request  # by the next process
    assert (pictures(), kills()) == ({"refused": 1, "interrupted": 1, "decoded": 1}, {"killed": 1})
    request = await started(pool, slow)
    os.kill(pool.pids[0], signal.SIGSEGV)
    with pytest.raises(DecodeFailed, match="BROKEN"):
        await request
    with pytest.raises(DecodeFailed, match="TOO_MUCH_MEMORY"):
        await pool.decode(saved(texture(large, 3500, 3500), "PNG", compress_level=0), (), ())
    await pool.decode(good("jpeg"), (), ())
    request = await started(pool, slow)
    request.cancel()
    with suppress(asyncio.CancelledError):
        await request
    await pool.stop()
    assert kills() == {"killed": 1, "crash": 1, "memory": 1, "canceled": 1}
    pool = DecodePool(processes=1, deadline_s=0.001, observer=DecodeMeter())
    await pool.start()
    with pytest.raises(DecodeFailed, match="TIMEOUT"):
        await pool.decode(slow, (), ())
    await pool.stop()
    assert kills() == {"killed": 1, "crash": 1, "memory": 1, "canceled": 1, "deadline": 1}
    assert pictures() == {"refused": 4, "interrupted": 2, "decoded": 2}


def test_every_metric_is_here() -> None:
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parent.rglob("test_*.py"))
    read = set(re.findall(r'(?:value|growth|grown)\(\s*"([a-z_]+)"', tests))
    names = [each.name.removeprefix(PREFIX) for each in METRICS.declarations]
    assert [name for name in names if not read & {name, f"{name}_count"}] == []
