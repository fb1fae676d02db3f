"""The HTTP API: responses, refusals, and the OpenAPI document."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import grpc.aio
import httpx
import pytest
from jsonschema import Draft202012Validator
from structlog.testing import capture_logs

from classifeed.jobs.v1.job_service_pb2 import TriggerJobRequest
from classifeed.jobs.v1.job_service_pb2_grpc import JobServiceStub
from classifeed_common.auth import KeyStore
from classifeed_common.http.api import bodies
from classifeed_jobs import Fail

from ..conftest import Bench
from .conftest import ApiServices, Host, Outage

UNKNOWN = "0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b"


def assert_problem(response: httpx.Response, status: int, reason: str) -> dict[str, Any]:
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json"), (
        response.text
    )
    problem: dict[str, Any] = response.json()
    assert (problem["status"], problem["reason"]) == (status, reason)
    assert problem["type"] == f"urn:classifeed:error:{reason}"
    assert problem["detail"]
    return problem


async def test_health_and_info_respond_without_the_database(services: ApiServices) -> None:
    await services.bench.db.close()
    took_s = []
    for _ in range(40):
        started = time.perf_counter()
        response = await services.http.get("/health")
        took_s.append(time.perf_counter() - started)
        assert (response.status_code, response.json()) == (200, {"status": "healthy"})
    assert min(took_s) < 1, "nothing is waited for"
    message = (await services.http.get("/info")).json()
    assert message == {"service": "loader", "version": "1.2.3", "environment": "test"}
    assert (await services.http.get("/health/ready")).json()["version"] == "1.2.3"
    assert "requests_total" in (await services.http.get("/metrics")).text


async def test_a_body_that_does_not_come_is_waited_for_no_longer_than_its_limit(
    services: ApiServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BODY_LIMIT_S", 0.2)
    url = httpx.URL(str(services.http.base_url))
    reader, writer = await asyncio.open_connection(url.host, url.port)
    head = "POST /api/v1/jobs/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
    async with asyncio.timeout(60):
        response = await reader.read()  # to its end: the connection is of no more use
    writer.close()
    assert b"BODY_INCOMPLETE" in response


async def test_a_new_job_is_queued_with_what_was_requested(services: ApiServices) -> None:
    message = await services.trigger(
        args={"n": 1, "deep": {"list": [1, "Ж", None, 2.5]}},
        idempotency_key="i",
        partition_key="p",
        priority=-7,
        available_at="2031-01-02T06:04:05+03:00",
        max_attempts=None,
        lease_ttl_sec=77,
        producer="cron",
        consumer_group="g",
    )
    assert set(message) == {"job_id", "status"}
    assert message["status"] == "queued"
    [job] = (await services.http.get("/api/v1/jobs")).json()["jobs"]
    expected = {
        "job_id": message["job_id"], "queue": "q", "task": "noop", "lock_key": "k", "idempotency_key": "i",
        "args": {"n": 1, "deep": {"list": [1, "Ж", None, 2.5]}}, "partition_key": "p", "priority": -7,
        "available_at": "2031-01-02T03:04:05.000000Z", "max_attempts": None, "lease_ttl_sec": 77,
        "producer": "cron", "consumer_group": "g", "attempt": 0, "status": "queued",
    }  # fmt: skip
    assert {name: job[name] for name in expected} == expected
    assert job["created_at"].endswith("Z")
    status = await services.status(message["job_id"])
    assert status == {
        "job_id": message["job_id"], "task": job["task"], "status": "queued", "attempt": 0, "started_at": None,
        "finished_at": None, "heartbeat_at": None, "error": None, "progress": None,
    }  # fmt: skip
    defaults = await services.trigger(priority=None, args=None)
    [job] = (await services.http.get("/api/v1/jobs?page_size=1")).json()["jobs"]
    assert (job["job_id"], job["priority"], job["max_attempts"], job["lease_ttl_sec"], job["args"]) == (
        defaults["job_id"], 100, 5, 60, {},
    )  # fmt: skip


async def test_a_used_idempotency_key_returns_its_job_and_what_differs(services: ApiServices) -> None:
    first = await services.trigger(idempotency_key="once", args={"a": 1})
    assert await services.trigger(idempotency_key="once", args={"a": 1}) == first
    other = await services.trigger(idempotency_key="once", queue="q2", task="t2", lock_key="k2", args={"a": 2})
    assert other == {**first, "differs": ["queue", "task", "args", "lock_key"]}
    await services.cancel(first["job_id"])
    assert await services.trigger(idempotency_key="once", args={"a": 1}, priority=5) == {**first, "status": "canceled"}
    assert len((await services.http.get("/api/v1/jobs")).json()["jobs"]) == 1


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"queue": None}, "queue"),
        ({"queue": ""}, "queue"),
        ({"queue": "q" * 64}, "queue"),
        ({"task": 5}, "task"),
        ({"lock_key": "a\0b"}, "lock_key"),
        ({"args": [1]}, "args"),
        ({"args": {"a": ["\0"]}}, "args"),
        ({"args": {"\0": 1}}, "args"),
        ({"args": {"n": 1 << 1100}}, "args"),
        ({"priority": "5"}, "priority"),
        ({"priority": 1 << 31}, "priority"),
        ({"priority": True}, "priority"),
        ({"available_at": "tomorrow"}, "available_at"),
        ({"available_at": 1893456000}, "available_at"),
        ({"available_at": "9999-12-31T23:59:59Z"}, "available_at"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"lease_ttl_sec": 0}, "lease_ttl_sec"),
        ({"lock-key": "k"}, "lock-key"),
    ],
)
async def test_wrong_values_are_400_and_named(services: ApiServices, values: dict[str, Any], field: str) -> None:
    response = await services.http.post("/api/v1/jobs/trigger", json=services.request | values)
    problem = assert_problem(response, 400, "REQUEST_INVALID")
    assert [each["field"] for each in problem["violations"]] == [field]
    assert (await services.http.get("/api/v1/jobs")).json() == {"jobs": [], "next_page_token": None}


async def test_required_fields_are_queue_task_and_lock_key(services: ApiServices) -> None:
    problem = assert_problem(await services.http.post("/api/v1/jobs/trigger", json={}), 400, "REQUEST_INVALID")
    assert [each["field"] for each in problem["violations"]] == ["queue", "task", "lock_key"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing",
        b"[]",
        b"\xff\xfe",
        b'{"queue": "q", "task": "t", "lock_key": "k", "args": {"a": NaN}}',
        b'{"queue": "q", "task": "t", "lock_key": "k", "args": {"a": 1e999}}',
        b'{"queue": "q", "task": "t", "lock_key": "\\ud800"}',
        b'{"queue": "q", "task": "t", "lock_key": "k", "args": {"a": "\\udc00"}}',
        b'{"queue": "q", "task": "t", "lock_key": "k", "args": ' + b'{"a":' * 40 + b"1" + b"}" * 40 + b"}",
        b'{"queue": "q", "task": "t", "lock_key": "k", "args": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}",
    ],
)
async def test_no_body_is_a_fault_of_ours(services: ApiServices, body: bytes) -> None:
    assert_problem(await services.http.post("/api/v1/jobs/trigger", content=body), 400, "REQUEST_INVALID")


async def test_a_body_that_is_too_large_is_413(services: ApiServices) -> None:
    body = json.dumps(services.request | {"args": {"a": "x" * (1 << 20)}})
    assert_problem(await services.http.post("/api/v1/jobs/trigger", content=body), 413, "BODY_TOO_LARGE")


@pytest.mark.parametrize(
    ("method", "verb"), [("GET", "status"), ("GET", "events"), ("POST", "cancel"), ("POST", "retry")]
)
async def test_unknown_jobs_are_404_and_malformed_ids_400(services: ApiServices, method: str, verb: str) -> None:
    response = await services.http.request(method, f"/api/v1/jobs/{UNKNOWN}/{verb}")
    assert assert_problem(response, 404, "JOB_NOT_FOUND")["metadata"] == {"job_id": UNKNOWN}
    for wrong in ("17", UNKNOWN + "0", UNKNOWN.replace("-", ""), "%00", "x"):
        response = await services.http.request(method, f"/api/v1/jobs/{wrong}/{verb}")
        assert assert_problem(response, 400, "REQUEST_INVALID")["violations"][0]["field"] == "job_id"


async def test_unknown_paths_and_methods_are_problems_too(services: ApiServices) -> None:
    assert_problem(await services.http.get("/api/v2/jobs"), 404, "NOT_FOUND")
    response = await services.http.get("/api/v1/jobs/trigger")
    assert_problem(response, 405, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"] == "POST"


async def test_faults_of_ours_are_500_and_in_the_log(services: ApiServices, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret cause")

    monkeypatch.setattr(services.bench.store, "get", broken)
    with capture_logs() as lines:
        response = await services.http.get(f"/api/v1/jobs/{UNKNOWN}/status")
    problem = assert_problem(response, 500, "INTERNAL")
    assert "secret" not in response.text
    assert problem["metadata"]["incident"]
    [line] = [line for line in lines if line["event"] == "api.error"]
    assert (line["status"], line["error"], line["path"]) == (500, "RuntimeError", f"/api/v1/jobs/{UNKNOWN}/status")


async def test_lists_go_in_pages_the_newest_first_by_every_filter(services: ApiServices) -> None:
    ids = [
        (await services.trigger(queue=f"q{n % 2}", task=f"t{n % 3}", lock_key=f"k{n % 2}"))["job_id"] for n in range(7)
    ]
    await services.cancel(ids[0])
    seen: list[str] = []
    token: str | None = ""
    while token is not None:
        page = (await services.http.get("/api/v1/jobs", params={"page_size": 3, "page_token": token})).json()
        seen += [job["job_id"] for job in page["jobs"]]
        token = page["next_page_token"]
    assert seen == ids[::-1]

    async def found(**query: Any) -> list[str]:
        response = await services.http.get("/api/v1/jobs", params=query)
        assert response.status_code == 200, response.text
        return [job["job_id"] for job in response.json()["jobs"]]

    assert await found(queue="q1") == ids[5::-2]
    assert await found(status="canceled") == [ids[0]]
    assert await found(task="t1") == [ids[4], ids[1]]
    assert await found(lock_key="k1", status="queued", queue="", task="") == ids[5::-2]
    for wrong in ({"status": "done"}, {"page_size": 0}, {"page_size": 1001}, {"page_token": "7"}, {"colour": "red"}):
        assert_problem(await services.http.get("/api/v1/jobs", params=wrong), 400, "REQUEST_INVALID")


async def test_the_journal_goes_in_pages(services: ApiServices) -> None:
    job_id = (await services.trigger())["job_id"]
    await services.cancel(job_id)
    url = f"/api/v1/jobs/{job_id}/events"
    page = (await services.http.get(url, params={"page_size": 1})).json()
    assert [event["kind"] for event in page["events"]] == ["queued"]
    assert page["events"][0]["payload"] == {"by": "anonymous@127.0.0.1"}
    rest = (await services.http.get(url, params={"page_token": page["next_page_token"]})).json()
    assert ([event["kind"] for event in rest["events"]], rest["next_page_token"]) == (["canceled"], None)


async def test_a_batch_is_all_or_none(services: ApiServices) -> None:
    async def send(*jobs: dict[str, Any]) -> httpx.Response:
        response: httpx.Response = await services.http.post("/api/v1/jobs:batch", json={"jobs": jobs})
        return response

    one = services.request | {"idempotency_key": "a"}
    response = await send(one, services.request | {"lock_key": "k2"})
    first, second = response.json()["jobs"]
    assert first["status"] == second["status"] == "queued"
    again = (await send(one | {"args": {"x": 1}}, services.request)).json()["jobs"]
    assert (again[0]["job_id"], again[0]["differs"]) == (first["job_id"], ["args"])
    problem = assert_problem(await send(services.request, services.request | {"task": ""}), 400, "REQUEST_INVALID")
    assert problem["violations"][0]["field"] == "jobs[1].task"
    assert_problem(await send(one | {"idempotency_key": "b"}, one | {"idempotency_key": "b"}), 400, "REQUEST_INVALID")
    assert_problem(await send(), 400, "REQUEST_INVALID")
    assert_problem(await send(*[services.request] * 1001), 400, "REQUEST_INVALID")
    assert await services.bench.value("SELECT count(*) FROM dl_jobs") == 3
    assert len((await send(*[services.request] * 1000)).json()["jobs"]) == 1000


async def test_queues_are_paused_and_resumed_by_any_name(services: ApiServices) -> None:
    for queue in ("q", "Ночная очередь", "a/b", "load.cbr"):
        paused = (await services.http.post(f"/api/v1/queues/{queue}/pause")).json()
        assert (paused["queue"], paused["paused"], paused["paused_by"]) == (queue, True, "anonymous@127.0.0.1")
    await services.trigger()
    await services.trigger(available_at="2031-01-01T00:00:00Z")
    listed = {queue["queue"]: queue for queue in (await services.http.get("/api/v1/queues")).json()["queues"]}
    assert set(listed) == {"q", "Ночная очередь", "a/b", "load.cbr"}
    shown = listed["q"]
    assert (shown["depth"], shown["ready"], shown["delayed"], shown["running"], shown["workers"]) == (2, 1, 1, 0, 0)
    assert shown["oldest_age_s"] >= 0
    resumed = (await services.http.post("/api/v1/queues/a/b/resume")).json()
    assert (resumed["queue"], resumed["paused"], resumed["depth"]) == ("a/b", False, 0)
    assert_problem(await services.http.post(f"/api/v1/queues/{'q' * 64}/pause"), 400, "REQUEST_INVALID")


async def test_locks_say_who_holds_what_and_how_many_wait(host: Host, bench: Bench) -> None:
    go = asyncio.Event()

    @bench.registry.register("hold")
    async def hold(ctx: Any, args: dict[str, Any]) -> None:
        await go.wait()

    async with host(work={"q": 4}) as services:
        ids = [(await services.trigger(task="hold", lock_key="bank"))["job_id"] for _ in range(3)]
        await services.until(ids[0], lambda message: message["status"] == "running")

        async def locks() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = (await services.http.get("/api/v1/locks")).json()["locks"]
            return found

        async with asyncio.timeout(90):
            while not (found := await locks()) or found[0]["waiting"] != 2:
                await asyncio.sleep(0.02)
        assert (found[0]["lock_key"], found[0]["job_id"], len(found)) == ("bank", ids[0], 1)
        assert found[0]["acquired_at"].endswith("Z")
        go.set()
        for job_id in ids:
            assert (await services.ended(job_id))["status"] == "succeeded"
        assert await locks() == []


async def test_only_what_failed_is_tried_again(host: Host, bench: Bench) -> None:
    faults = [Fail("no disk")]

    @bench.registry.register("once")
    async def once(ctx: Any, args: dict[str, Any]) -> None:
        if faults:
            raise faults.pop()

    async with host(work={"q": 1}) as services:
        job_id = (await services.trigger(task="once"))["job_id"]
        failed = await services.ended(job_id)
        assert (failed["status"], failed["error"], failed["attempt"]) == ("failed", "no disk", 1)
        response = await services.http.post(f"/api/v1/jobs/{job_id}/retry")
        assert (response.json()["job_id"], response.json()["status"]) == (job_id, "queued")
        assert (await services.ended(job_id))["status"] == "succeeded"
        assert_problem(await services.http.post(f"/api/v1/jobs/{job_id}/retry"), 412, "JOB_NOT_FAILED")


async def test_failed_jobs_are_tried_again_all_since_a_time(host: Host, bench: Bench, outage: Outage) -> None:
    async with host(work={"q": 4}) as services:

        async def retry(**request: Any) -> httpx.Response:
            response: httpx.Response = await services.http.post("/api/v1/jobs:retry", json=request)
            return response

        early, *late = [(await services.trigger(task="t", lock_key=f"k{n}"))["job_id"] for n in range(3)]
        ends = {job_id: (await services.ended(job_id))["finished_at"] for job_id in (early, *late)}
        outage.is_over = True
        await bench.execute(
            "UPDATE dl_jobs_done SET finished_at = finished_at - interval '1 hour' WHERE job_id = %s", early
        )
        assert (await retry(queue="q", task="none")).json() == {"retried": 0}
        assert (await retry(queue="q", task="t", failed_since=min(ends[job_id] for job_id in late))).json() == {
            "retried": 2
        }
        for job_id in late:
            assert (await services.ended(job_id))["status"] == "succeeded"
        assert (await services.status(early))["status"] == "failed"
        assert (await retry(queue="q")).json() == {"retried": 1}
        assert (await services.ended(early))["status"] == "succeeded"
        problem = assert_problem(
            await retry(task="t"), 400, "REQUEST_INVALID"
        )  # an empty name must not mean all queues
        assert problem["violations"][0]["field"] == "queue"
        assert_problem(await retry(queue="q", failed_since="yesterday"), 400, "REQUEST_INVALID")


async def test_the_audit_log_has_the_start_and_end_of_every_request_and_who_did_what(
    host: Host, keys: KeyStore
) -> None:
    async with host(keys=keys, is_guarded=True) as services:
        services.http.headers["authorization"] = f"Bearer {keys.issue('operator', 'loader')}"
        with capture_logs() as lines:
            job_id = (await services.trigger())["job_id"]
            await services.cancel(job_id)
            await services.http.get(f"/api/v1/jobs/{UNKNOWN}/status", headers={"x-request-id": "r-1"})
            await services.http.get("/health")
    audited = [line for line in lines if line["event"].startswith(("api.request", "job.audit"))]
    assert [line["event"] for line in audited] == [
        "api.request.started", "job.audit", "api.request.ended",
        "api.request.started", "job.audit", "api.request.ended",
        "api.request.started", "api.request.ended",
    ]  # fmt: skip
    started, did, ended = audited[:3]
    assert (started["method"], started["path"], started["client"]) == ("POST", "/api/v1/jobs/trigger", "127.0.0.1")
    assert (did["action"], did["by"], did["job_id"], did["queue"]) == ("trigger", "operator", job_id, "q")
    assert (ended["status"], ended["by"]) == (200, "operator")
    assert ended["duration_ms"] > 0
    assert (audited[4]["action"], audited[4]["by"], audited[4]["job_id"]) == ("cancel", "operator", job_id)
    assert (audited[7]["status"], audited[7]["by"]) == (404, "operator")


async def test_with_authentication_on_only_operators_may_and_health_and_info_stay_open(
    host: Host, keys: KeyStore
) -> None:
    async with host(keys=keys, is_guarded=True) as services:
        job = {**services.request}
        for headers, status, reason in (
            ({}, 401, "TICKET_MISSING"),
            ({"authorization": "Basic YTpi"}, 401, "TICKET_MISSING"),
            ({"authorization": "Bearer nonsense"}, 401, "TICKET_INVALID"),
            ({"authorization": f"Bearer {keys.issue('operator', 'offers')}"}, 401, "TICKET_FOR_ANOTHER"),
            ({"authorization": f"Bearer {keys.issue('api', 'loader')}"}, 403, "CALLER_NOT_ALLOWED"),
        ):
            assert_problem(await services.http.post("/api/v1/jobs/trigger", json=job, headers=headers), status, reason)
            assert_problem(await services.http.get("/openapi.json", headers=headers), status, reason)
        assert await services.bench.value("SELECT count(*) FROM dl_jobs") == 0
        assert (await services.http.get("/health")).status_code == (await services.http.get("/info")).status_code == 200
        services.http.headers["authorization"] = f"bearer {keys.issue('operator', 'loader')}"
        await services.trigger()
        document = (await services.http.get("/openapi.json")).json()
        assert document["components"]["securitySchemes"]["ticket"]["scheme"] == "bearer"
        assert document["paths"]["/api/v1/locks"]["get"]["security"] == [{"ticket": []}]
        assert "security" not in document["paths"]["/health"]["get"]


# Requests as from browsers: a form, a script that sends text, and a page with DNS rebinding.
_FROM_PAGES = {
    "form": ({"origin": "null", "content-type": "application/x-www-form-urlencoded"}, 403, "ORIGIN_NOT_ALLOWED"),
    "script": ({"origin": "https://evil.example", "content-type": "text/plain"}, 403, "ORIGIN_NOT_ALLOWED"),
    "old browser": ({"content-type": "text/plain"}, 415, "CONTENT_TYPE_NOT_JSON"),
    "rebound": ({"host": "evil.example", "origin": "http://evil.example"}, 403, "HOST_NOT_ALLOWED"),
}


@pytest.mark.parametrize("page", _FROM_PAGES)
async def test_a_web_page_changes_nothing(services: ApiServices, page: str) -> None:
    headers, status, reason = _FROM_PAGES[page]
    body = json.dumps(services.request)
    for path in ("/api/v1/jobs/trigger", "/api/v1/queues/q/pause"):
        assert_problem(await services.http.post(path, content=body, headers=headers), status, reason)
    assert await services.bench.value("SELECT count(*) FROM dl_jobs") == 0
    assert await services.bench.value("SELECT count(*) FROM dl_queues") == 0


async def test_a_caller_has_so_many_open_jobs_and_no_more(host: Host) -> None:
    async with host(max_open_per_caller=3) as services:
        first = await services.trigger(idempotency_key="a")
        batch = {"jobs": [services.request | {"idempotency_key": each} for each in "abcd"]}
        response = await services.http.post("/api/v1/jobs:batch", json=batch)
        problem = assert_problem(response, 429, "JOBS_OPEN_LIMIT")
        assert (problem["metadata"], response.headers["retry-after"]) == ({"open": "1", "limit": "3"}, "10")
        assert await services.bench.value("SELECT count(*) FROM dl_jobs") == 1, "all or none"
        batch["jobs"].pop()
        assert (await services.http.post("/api/v1/jobs:batch", json=batch)).status_code == 200
        written = "SELECT last_value FROM dl_job_events_event_id_seq"
        before = await services.bench.value(written)
        assert_problem(await services.http.post("/api/v1/jobs/trigger", json=services.request), 429, "JOBS_OPEN_LIMIT")
        assert await services.bench.value(written) == before, "a flood that is refused writes nothing"
        assert await services.trigger(idempotency_key="a") == first, "what was taken is answered all the same"
        async with grpc.aio.insecure_channel(services.grpc_address) as channel:
            other = TriggerJobRequest(queue="q", task="noop", lock_key="k")
            await JobServiceStub(channel).TriggerJob(other)  # another caller
        await services.cancel(first["job_id"])
        await services.trigger()


# The requirements of OpenAPI 3.1 that apply to this document.
_OPENAPI: dict[str, Any] = {
    "type": "object",
    "required": ["openapi", "info", "paths", "components"],
    "properties": {
        "openapi": {"pattern": r"^3\.1\.\d+$"},
        "info": {"type": "object", "required": ["title", "version"]},
        "paths": {
            "patternProperties": {"^/": {"additionalProperties": {"$ref": "#/$defs/operation"}}},
            "additionalProperties": False,
        },
        "components": {
            "properties": {"schemas": {"propertyNames": {"pattern": "^[a-zA-Z0-9._-]+$"}}},
            "required": ["schemas"],
        },
    },
    "$defs": {
        "operation": {
            "required": ["operationId", "summary", "responses"],
            "properties": {
                "parameters": {
                    "items": {
                        "required": ["name", "in", "schema"],
                        "properties": {"in": {"enum": ["path", "query"]}},
                        "if": {"properties": {"in": {"const": "path"}}},
                        "then": {"required": ["required"], "properties": {"required": {"const": True}}},
                    }
                },
                "responses": {
                    "minProperties": 1,
                    "propertyNames": {"pattern": "^[1-5][0-9]{2}$"},
                    "additionalProperties": {"required": ["description"]},
                },
            },
        }
    },
}


def references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*map(references, part.values()))
    return set().union(*map(references, part)) if isinstance(part, list) else set()


async def test_the_openapi_document_is_valid_and_true(services: ApiServices) -> None:
    document = (await services.http.get("/openapi.json")).json()
    Draft202012Validator(_OPENAPI).validate(document)
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    assert references(document) == {f"#/components/schemas/{name}" for name in schemas}
    operations = [(path, verb, each) for path, item in document["paths"].items() for verb, each in item.items()]
    assert len({each["operationId"] for _, _, each in operations}) == len(operations) == 22
    for path, _, each in operations:
        in_path = {parameter["name"] for parameter in each["parameters"] if parameter["in"] == "path"}
        assert in_path == {step.strip("{}") for step in path.split("/") if step.startswith("{")}
    assert "security" not in json.dumps(document)

    def check(path: str, verb: str, response: httpx.Response) -> None:
        described = document["paths"][path][verb]["responses"][str(response.status_code)]["content"]
        [(media, content)] = described.items()
        assert media == response.headers["content-type"]
        Draft202012Validator(content["schema"] | {"components": document["components"]}).validate(response.json())

    body = services.request | {"idempotency_key": "i", "available_at": "2031-01-01T00:00:00Z", "args": {"a": [1]}}
    asked_schema = document["paths"]["/api/v1/jobs/trigger"]["post"]["requestBody"]["content"]["application/json"]
    request = Draft202012Validator(asked_schema["schema"] | {"components": document["components"]})
    request.validate(body)
    assert not request.is_valid(body | {"priority": "high"})
    for _ in range(2):
        response = await services.http.post("/api/v1/jobs/trigger", json=body)
        check("/api/v1/jobs/trigger", "post", response)
        body["args"] = {}
    job = "/api/v1/jobs/{job_id}"
    job_id = response.json()["job_id"]
    check("/api/v1/jobs/trigger", "post", await services.http.post("/api/v1/jobs/trigger", json={}))
    check("/api/v1/jobs:batch", "post", await services.http.post("/api/v1/jobs:batch", json={"jobs": [body]}))
    check("/api/v1/queues/{queue}/pause", "post", await services.http.post("/api/v1/queues/q/pause"))
    check("/api/v1/queues/{queue}/resume", "post", await services.http.post("/api/v1/queues/q/resume"))
    for asked_retry in ({"queue": "q", "failed_since": "2026-11-01T00:00:00Z"}, {"task": "noop"}):
        check("/api/v1/jobs:retry", "post", await services.http.post("/api/v1/jobs:retry", json=asked_retry))
    for path in ("/api/v1/jobs", "/api/v1/queues", "/api/v1/locks", "/health", "/info"):
        check(path, "get", await services.http.get(path))
    schedule = "/api/v1/schedules/{name}"
    daily = {"queue": "q", "task": "noop", "lock_key": "k", "cron": "30 3 * * *"}
    for name, body in (("s", daily), ("s", daily | {"cron": "x"}), ("s" * 201, daily)):
        check(schedule, "put", await services.http.put(f"/api/v1/schedules/{name}", json=body))
    assert "404" not in document["paths"][schedule]["put"]["responses"]
    check("/api/v1/schedules", "get", await services.http.get("/api/v1/schedules"))
    for name in ("s", "none", "%07"):
        check(schedule, "get", await services.http.get(f"/api/v1/schedules/{name}"))
        for verb in ("pause", "resume"):
            check(f"{schedule}/{verb}", "post", await services.http.post(f"/api/v1/schedules/{name}/{verb}"))
        check(schedule, "delete", await services.http.delete(f"/api/v1/schedules/{name}"))
    for each in (job_id, UNKNOWN, "x"):
        check(f"{job}/status", "get", await services.http.get(f"/api/v1/jobs/{each}/status"))
        check(f"{job}/cancel", "post", await services.http.post(f"/api/v1/jobs/{each}/cancel"))
        check(f"{job}/events", "get", await services.http.get(f"/api/v1/jobs/{each}/events"))
        check(f"{job}/retry", "post", await services.http.post(f"/api/v1/jobs/{each}/retry"))
    check(f"{job}/retry", "post", await services.http.post(f"/api/v1/jobs/{job_id}/retry"))
