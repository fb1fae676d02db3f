"""Schedules over HTTP and gRPC: alike in what they take, what they refuse and what they respond."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import grpc
import grpc.aio
import pytest
from google.protobuf import json_format
from structlog.testing import capture_logs

from classifeed.jobs.v1 import job_service_pb2 as pb
from classifeed.jobs.v1 import schedule_pb2
from classifeed.jobs.v1.job_service_pb2_grpc import JobServiceStub
from classifeed_common.auth import KeyStore
from classifeed_common.rpc.status import from_rpc_error
from classifeed_jobs import Schedule, Scheduler, Schedules
from classifeed_jobs.schedule.schedules import Missed

from .conftest import ApiServices, Host

URL = "/api/v1/schedules"
# On leap days only: no slot comes while a test runs.
LEAP = {"queue": "q", "task": "noop", "lock_key": "k", "cron": "30 3 29 2 *", "time_zone": "Europe/Moscow"}


async def put(services: Any, name: str, **values: Any) -> dict[str, Any]:
    response = await services.http.put(f"{URL}/{name}", json=LEAP | values)
    assert response.status_code == 200, response.text
    message: dict[str, Any] = response.json()
    return message


async def refused(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value


async def test_what_is_put_is_returned_in_full_and_run_by_a_scheduler(services: ApiServices) -> None:
    bench = services.bench
    message = await put(
        services,
        "nightly",
        args={"n": 1, "deep": [None, "Ж"]},
        partition_key="p",
        priority=-7,
        max_attempts=None,
        lease_ttl_sec=77,
        missed="run_all",
        grace_sec=5,
    )
    expected = {
        **LEAP, "name": "nightly", "args": {"n": 1, "deep": [None, "Ж"]}, "partition_key": "p", "priority": -7,
        "max_attempts": None, "lease_ttl_sec": 77, "every_sec": None, "missed": "run_all", "grace_sec": 5,
        "overlap": "queue_one",
        "paused": False, "paused_at": None, "paused_by": None, "last_slot": None, "last_job_id": None,
    }  # fmt: skip
    assert {name: message[name] for name in expected} == expected
    assert set(message) == {*expected, "next_slot"}
    next_slot = datetime.fromisoformat(message["next_slot"])
    assert message["next_slot"].endswith("-02-29T00:30:00.000000Z"), "half past three in Moscow"
    assert next_slot > datetime.now(UTC)
    missed = next_slot.replace(year=next_slot.year - 4)
    await bench.execute("UPDATE dl_schedules SET next_slot = %s", missed)
    assert await Scheduler(bench.db, bench.store).make_due() == 1
    later = (await services.http.get(f"{URL}/nightly")).json()
    [job] = (await services.http.get("/api/v1/jobs")).json()["jobs"]
    assert (later["last_job_id"], later["next_slot"]) == (job["job_id"], message["next_slot"])
    assert datetime.fromisoformat(later["last_slot"]) == missed
    assert (job["args"], job["lock_key"], job["priority"], job["max_attempts"], job["lease_ttl_sec"]) == (
        {"n": 1, "deep": [None, "Ж"]}, "k", -7, None, 77,
    )  # fmt: skip


async def test_what_is_left_out_is_as_the_engine_has_it(services: ApiServices, stub: JobServiceStub) -> None:
    plain = {"queue": "q", "task": "noop", "lock_key": "k", "every_sec": 60}
    over_http = (await services.http.put(f"{URL}/s", json=plain | {"time_zone": None, "missed": None})).json()
    shown = (over_http["time_zone"], over_http["missed"], over_http["grace_sec"], over_http["args"])
    assert shown == ("UTC", "run_once", 60, {})
    assert (over_http["priority"], over_http["max_attempts"], over_http["lease_ttl_sec"]) == (100, 5, None)
    request = json_format.ParseDict({**plain, "name": "s"}, pb.PutScheduleRequest())
    await stub.PutSchedule(request)
    assert (await services.http.get(f"{URL}/s")).json() == over_http


async def test_both_apis_return_the_same_of_a_schedule(services: ApiServices, stub: JobServiceStub) -> None:
    request = {
        **LEAP, "name": "s", "args": {"n": 3, "half": 0.5}, "partition_key": "p", "priority": 0, "max_attempts": 2,
        "lease_ttl_sec": 9, "missed": "MISSED_SLOTS_SKIP", "grace_sec": 0,
    }  # fmt: skip
    message = await stub.PutSchedule(json_format.ParseDict(request, pb.PutScheduleRequest()))
    reported = json_format.MessageToDict(message, preserving_proto_field_name=True)
    assert {name: reported.get(name, 0) for name in request} == request
    over_http = (await services.http.get(f"{URL}/s")).json()
    assert (over_http["args"], over_http["missed"], over_http["grace_sec"]) == ({"n": 3, "half": 0.5}, "skip", 0)
    assert message.next_slot_time.ToDatetime(UTC) == datetime.fromisoformat(over_http["next_slot"])
    assert await stub.GetSchedule(pb.GetScheduleRequest(name="s")) == message
    paused = await stub.PauseSchedule(pb.PauseScheduleRequest(name="s"))
    assert (paused.paused, paused.HasField("pause_time"), paused.HasField("next_slot_time")) == (True, True, False)
    over_http = (await services.http.get(f"{URL}/s")).json()
    assert (over_http["paused"], over_http["paused_by"], over_http["next_slot"]) == (True, paused.paused_by, None)
    assert not (await stub.ResumeSchedule(pb.ResumeScheduleRequest(name="s"))).paused
    assert await stub.DeleteSchedule(pb.DeleteScheduleRequest(name="s")) == message
    assert (await stub.ListSchedules(pb.ListSchedulesRequest())).schedules == []


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"cron": "every day"}, "cron"),
        ({"cron": "0 0 30 2 *"}, "cron"),
        ({"cron": "60 * * * *"}, "cron"),
        ({"cron": "0 " * 200}, "cron"),
        ({"time_zone": "Europe/Moskva"}, "time_zone"),
        ({"time_zone": "Europe"}, "time_zone"),
        ({"time_zone": "../etc"}, "time_zone"),
        ({"time_zone": "\0"}, "time_zone"),
        ({"cron": None, "every_sec": 0}, "every_sec"),
        ({"cron": None, "every_sec": -60}, "every_sec"),
        ({"grace_sec": -1}, "grace_sec"),
        ({"queue": "a\nb"}, "queue"),
        ({"queue": ""}, "queue"),
        ({"task": ""}, "task"),
        ({"lock_key": "a\0"}, "lock_key"),
        ({"args": {"a": "\0"}}, "args"),
        ({"partition_key": "p" * 201}, "partition_key"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"lease_ttl_sec": 86_401}, "lease_ttl_sec"),
    ],
)
async def test_wrong_values_are_refused_and_named_by_both(
    services: ApiServices, stub: JobServiceStub, values: dict[str, Any], field: str
) -> None:
    response = await services.http.put(f"{URL}/s", json=LEAP | values)
    assert (response.status_code, response.json()["reason"]) == (400, "REQUEST_INVALID"), response.text
    assert [each["field"] for each in response.json()["violations"]] == [field]
    request = {name: value for name, value in {**LEAP, "name": "s", **values}.items() if value is not None}
    error = await refused(stub.PutSchedule(json_format.ParseDict(request, pb.PutScheduleRequest())))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert {violation.field for violation in from_rpc_error(error).violations} == {field}
    assert (await services.http.get(URL)).json() == {"schedules": [], "next_page_token": None}


async def test_a_schedule_has_one_timing(services: ApiServices, stub: JobServiceStub) -> None:
    plain = {"queue": "q", "task": "noop", "lock_key": "k"}
    for timing in ({}, {"cron": "@daily", "every_sec": 60}):
        response = await services.http.put(f"{URL}/s", json=plain | timing)
        assert response.status_code == 400
        assert [each["field"] for each in response.json()["violations"]] == ["every_sec"]
    error = await refused(stub.PutSchedule(json_format.ParseDict(plain, pb.PutScheduleRequest(name="s"))))
    assert [violation.field for violation in from_rpc_error(error).violations] == ["timing"]
    for wrong in ({"every_sec": "60"}, {"missed": "sometimes"}, {"name": "t"}, {"time-zone": "UTC"}):
        [named] = wrong
        response = await services.http.put(f"{URL}/s", json=LEAP | wrong)
        assert named in [each["field"] for each in response.json()["violations"]]


async def test_put_again_keeps_the_slot_and_the_pause(services: ApiServices) -> None:
    first = await put(services, "s")
    await services.http.post(f"{URL}/s/pause")
    again = await put(services, "s", args={"a": 1})
    assert (again["args"], again["paused"], again["next_slot"]) == ({"a": 1}, True, None)
    resumed = (await services.http.post(f"{URL}/s/resume")).json()
    assert (resumed["paused"], resumed["next_slot"]) == (False, first["next_slot"])
    assert (await put(services, "s", cron="31 3 29 2 *"))["next_slot"] != first["next_slot"]


async def test_names_are_any_and_unknown_ones_are_404(services: ApiServices, stub: JobServiceStub) -> None:
    for name in ("nightly", "Ночной обмен", "a/b", "a/pause"):
        assert (await put(services, name))["name"] == name
        assert (await services.http.post(f"{URL}/{name}/pause")).json()["name"] == name
        assert (await services.http.get(f"{URL}/{name}")).json()["paused"]
        assert (await services.http.delete(f"{URL}/{name}")).json()["name"] == name
    for method, verb in (("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume")):
        response = await services.http.request(method, f"{URL}/nightly{verb}")
        assert (response.status_code, response.json()["reason"]) == (404, "SCHEDULE_NOT_FOUND")
        assert response.json()["metadata"] == {"schedule": "nightly"}
        for wrong in ("s" * 201, "%00", "a%07b"):
            response = await services.http.request(method, f"{URL}/{wrong}{verb}")
            assert (response.status_code, response.json()["violations"][0]["field"]) == (400, "name")
    calls: list[tuple[Any, Any]] = [
        (stub.GetSchedule, pb.GetScheduleRequest), (stub.DeleteSchedule, pb.DeleteScheduleRequest),
        (stub.PauseSchedule, pb.PauseScheduleRequest), (stub.ResumeSchedule, pb.ResumeScheduleRequest),
    ]  # fmt: skip
    for call, request in calls:
        error = await refused(call(request(name="nightly")))
        assert (error.code(), from_rpc_error(error).reason) == (grpc.StatusCode.NOT_FOUND, "SCHEDULE_NOT_FOUND")
        assert (await refused(call(request(name="a\0")))).code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_lists_go_in_pages_by_name(services: ApiServices, stub: JobServiceStub) -> None:
    async with services.bench.db.transaction() as tx:
        for n in range(5):
            await Schedules().put(tx, Schedule(f"s{n}", "q", "noop", every_s=3600))
    names: list[str] = []
    token: str | None = ""
    while token is not None:
        page = (await services.http.get(URL, params={"page_size": 2, "page_token": token})).json()
        names += [each["name"] for each in page["schedules"]]
        token = page["next_page_token"]
    assert names == [f"s{n}" for n in range(5)]
    first = await stub.ListSchedules(pb.ListSchedulesRequest(page_size=3))
    rest = await stub.ListSchedules(pb.ListSchedulesRequest(page_size=3, page_token=first.next_page_token))
    assert [each.name for each in (*first.schedules, *rest.schedules)] == names
    assert rest.next_page_token == ""
    assert rest.schedules[0].WhichOneof("timing") == "every_sec"
    assert (await services.http.get(URL, params={"page_size": 0})).status_code == 400
    wrong = await refused(stub.ListSchedules(pb.ListSchedulesRequest(page_token="\0")))
    assert [violation.field for violation in from_rpc_error(wrong).violations] == ["page_token"]


async def test_who_did_what_is_kept_and_only_operators_may(host: Host, keys: KeyStore) -> None:
    async with host(keys=keys, is_guarded=True) as services:
        refusal = await services.http.put(f"{URL}/s", json=LEAP)
        assert refusal.json()["reason"] == "TICKET_MISSING"
        services.http.headers["authorization"] = f"Bearer {keys.issue('api', 'loader')}"
        refusal = await services.http.put(f"{URL}/s", json=LEAP)
        assert refusal.json()["reason"] == "CALLER_NOT_ALLOWED"
        services.http.headers["authorization"] = f"Bearer {keys.issue('operator', 'loader')}"
        with capture_logs() as lines:
            await put(services, "s")
            paused = (await services.http.post(f"{URL}/s/pause")).json()
            await services.http.post(f"{URL}/s/resume")
            await services.http.delete(f"{URL}/s")
            await services.http.delete(f"{URL}/s")
    assert paused["paused_by"] == "operator"
    audited = [line for line in lines if line["event"] == "job.audit"]
    assert [line["action"] for line in audited] == [
        "put_schedule", "pause_schedule", "resume_schedule", "remove_schedule",
    ]  # fmt: skip
    assert {(line["by"], line["schedule"], line["queue"]) for line in audited} == {("operator", "s", "q")}


def test_every_policy_for_missed_slots_has_its_number() -> None:
    names = {value.name for value in schedule_pb2.MissedSlots.DESCRIPTOR.values}
    policies = ("UNSPECIFIED", *map(str.upper, get_args(Missed)))
    assert names == {f"MISSED_SLOTS_{policy}" for policy in policies}
