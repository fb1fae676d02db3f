"""Speed of moderation: texts a second, requests of users meanwhile, callbacks, and comments during a backlog."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

from bench.kit.report import quantile
from bench.moderation.instance import Instance, running
from classifeed.points.v1.point_pb2 import Author, Location
from classifeed.points.v1.point_service_pb2 import AddCommentRequest, CreatePointRequest, GetPointRequest
from classifeed.points.v1.point_service_pb2_grpc import PointServiceStub
from classifeed_common.auth import KeyStore
from classifeed_common.rpc.client import open_channel

_USERS: Final = 4
_BACKLOG: Final = 1_000_000
_COMMENTS: Final = 30
_CALLBACKS_IN_FLIGHT: Final = 16
_PATH: Final = "/v2/apply_moderation_verdicts"


def measure_rate(count: int, **settings: object) -> float:
    """Return texts a second, measured between 10 % and 90 % of a backlog of `count`."""
    with running(**settings) as instance:
        instance.add_texts("rate", count)
        instance.until(lambda: instance.waiting() <= count * 0.9)
        began, first = time.perf_counter(), instance.waiting()
        instance.until(lambda: instance.waiting() <= count * 0.1)
        return (first - instance.waiting()) / (time.perf_counter() - began)


def measure_users(rounds: int, requests: int) -> list[dict[str, float]]:
    """Return p50 and p99 of CreatePoint in seconds: idle, and with no verdict service and a full queue."""
    found = []
    with running() as instance:
        asyncio.run(_create_points(instance, requests))  # the first ones open connections and plan queries
        for number in range(rounds):
            instance.until(lambda: instance.waiting() == 0)
            quiet = asyncio.run(_create_points(instance, requests))
            instance.until(lambda: instance.waiting() == 0)
            instance.verdicts.become("away")
            instance.add_texts(f"away{number}", 30_000)
            instance.until(lambda: instance.suite.metric("moderation", "classifeed_moderation_queued_texts") >= 9_000)
            away = asyncio.run(_create_points(instance, requests))
            instance.forget()
            instance.verdicts.become("verdicts")
            found.append({"quiet_p50": quantile(quiet, 50), "quiet_p99": quantile(quiet, 99),
                          "away_p50": quantile(away, 50), "away_p99": quantile(away, 99)})  # fmt: skip
    return found


def measure_callbacks(keys_each: int, count: int) -> float:
    """Return verdicts a second from callbacks that have `keys_each` keys."""
    with running() as instance:
        instance.add_texts("calls", count, due_s=3600)
        token = KeyStore(instance.keys).issue("cleanweb", "moderation")
        rows = instance.suite.query("moderation", "SELECT subject_key || '~' || encode(text_hash, 'hex') FROM subjects")
        took_s = asyncio.run(_call_back(instance, token, _bodies([key for (key,) in rows], keys_each)))
        if instance.waiting():
            raise RuntimeError(f"{instance.waiting()} texts still wait")
    return count / took_s


def measure_comments() -> dict[str, list[float]]:
    """Return seconds from AddComment to its decision: idle, and while texts of offers wait in a backlog."""
    with running(VERDICT_BATCH=50) as instance:
        quiet = asyncio.run(_comment(instance))
        instance.add_texts("backlog", _BACKLOG)
        instance.until(lambda: instance.waiting() <= _BACKLOG - 5_000)
        beside = asyncio.run(_comment(instance))
        if not instance.waiting():
            raise RuntimeError("the backlog was drained before the comments were written")
    return {"quiet": quiet, "beside": beside}


async def _create_points(instance: Instance, requests: int) -> list[float]:
    took: list[float] = []
    async with _points(instance) as stub:

        async def create(count: int) -> None:
            for _ in range(count):
                began = time.perf_counter()
                await stub.CreatePoint(_new_point())
                took.append(time.perf_counter() - began)

        await asyncio.gather(*(create(requests // _USERS) for _ in range(_USERS)))
    return took


async def _comment(instance: Instance) -> list[float]:
    took = []
    async with _points(instance) as stub:
        point = await stub.CreatePoint(_new_point(role="AUTHOR_ROLE_PARTNER"))
        for number in range(_COMMENTS):
            began = time.perf_counter()
            await stub.AddComment(
                AddCommentRequest(
                    parent=point.name, author=Author(author_id="bench"), text=f"Still there {number} {uuid4()}",
                    request_id=str(number),
                )
            )  # fmt: skip
            shown = GetPointRequest(name=point.name)
            while len((await stub.GetPoint(shown)).comments) <= number:  # noqa: ASYNC110 - users poll, too
                await asyncio.sleep(0.005)
            took.append(time.perf_counter() - began)
    return took


def _bodies(keys: list[str], keys_each: int) -> list[str]:
    end = {"name": "clean_web_moderation_end", "subsource": "tmu", "value": True, "entity": "text", "source": "bench"}
    return [
        json.dumps({"verdicts": [{**end, "key": key} for key in keys[at : at + keys_each]]})
        for at in range(0, len(keys), keys_each)
    ]


async def _call_back(instance: Instance, token: str, bodies: list[str]) -> float:
    """Send callbacks, several at a time, and return the seconds that it took."""
    left = iter(bodies)
    host, port = instance.http.removeprefix("http://").split(":")
    head = (
        f"POST {_PATH} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nX-Ya-Service-Ticket: {token}\r\n"
    )

    async def send() -> None:
        # A minimal client: the sender and the service share two cores.
        reader, writer = await asyncio.open_connection(host, int(port))
        for body in left:
            content = body.encode()
            writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
            response = await reader.readuntil(b"\r\n\r\n")
            if not response.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(response.decode())
            begin = response.lower().index(b"content-length:") + 15
            await reader.readexactly(int(response[begin : response.index(b"\r\n", begin)]))
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(send() for _ in range(_CALLBACKS_IN_FLIGHT)))
    return time.perf_counter() - began


@asynccontextmanager
async def _points(instance: Instance) -> AsyncIterator[PointServiceStub]:
    keys = KeyStore(instance.keys)
    channel = open_channel(instance.grpc, caller="operator", audience="moderation", keys=keys)
    try:
        yield PointServiceStub(channel)
    finally:
        await channel.close()


def _new_point(role: Any = "AUTHOR_ROLE_USER") -> CreatePointRequest:
    point_id = str(uuid4())
    return CreatePointRequest(
        point_id=point_id, author=Author(author_id="bench", role=role), tags=["other"], region_ids=[225],
        description=f"Lorry across the road {point_id}", location=Location(latitude=55.75, longitude=37.62),
    )  # fmt: skip
