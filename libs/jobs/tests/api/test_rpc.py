"""JobService: jobs over gRPC."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import grpc
import grpc.aio
import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.jobs.v1 import job_pb2
from classifeed.jobs.v1 import job_service_pb2 as pb
from classifeed.jobs.v1.job_service_pb2_grpc import JobServiceStub
from classifeed_common.auth import KeyStore
from classifeed_common.rpc.client import open_channel
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.texts import check_that_nul_is_refused
from classifeed_jobs import Progress, QueueLimits, Queues

from ..conftest import Bench
from .conftest import ApiServices, Host, Outage

INVALID = grpc.StatusCode.INVALID_ARGUMENT


def struct(values: dict[str, Any]) -> Struct:
    return json_format.ParseDict(values, Struct())


def request(**values: Any) -> pb.TriggerJobRequest:
    return pb.TriggerJobRequest(**({"queue": "q", "task": "noop", "lock_key": "k"} | values))


async def refused(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value


async def test_nul_in_any_text_of_a_request_is_refused_by_its_field(services: ApiServices) -> None:
    channels = []

    def connect(target: str, **_: Any) -> grpc.aio.Channel:
        channels.append(grpc.aio.insecure_channel(target))
        return channels[-1]

    await check_that_nul_is_refused(connect, services.grpc_address, "loader", "classifeed.jobs.v1.JobService")
    for channel in channels:
        await channel.close()


async def test_a_job_is_returned_in_full(services: ApiServices, stub: JobServiceStub) -> None:
    moment = Timestamp()
    moment.FromDatetime(datetime(2031, 1, 2, tzinfo=UTC))
    message = await stub.TriggerJob(
        request(
            args=struct({"n": 3, "half": 0.5, "deep": [{"a": None}]}),
            idempotency_key="i",
            partition_key="p",
            priority=0,
            available_time=moment,
            max_attempts=2,
            lease_ttl_sec=9,
            producer="x",
            consumer_group="g",
        )
    )
    assert (message.status, list(message.differs)) == (job_pb2.JOB_STATUS_QUEUED, [])
    job = await stub.GetJob(pb.GetJobRequest(job_id=message.job_id))
    assert (job.queue, job.task, job.lock_key, job.idempotency_key, job.partition_key) == ("q", "noop", "k", "i", "p")
    assert (job.priority, job.max_attempts, job.lease_ttl_sec, job.producer, job.consumer_group) == (0, 2, 9, "x", "g")
    assert (job.available_time, job.attempt, job.HasField("start_time"), job.HasField("progress")) == (
        moment, 0, False, False,
    )  # fmt: skip
    assert job.args == struct({"n": 3, "half": 0.5, "deep": [{"a": None}]})
    # Whole numbers stay integers, as over HTTP.
    over_http = {"args": {"n": 3, "half": 0.5, "deep": [{"a": None}]}, "idempotency_key": "i"}
    assert "differs" not in await services.trigger(**over_http)
    again = await stub.TriggerJob(request(task="other", idempotency_key="i"))
    assert (again.job_id, list(again.differs)) == (message.job_id, ["task", "args"])
    unset = await stub.TriggerJob(request())
    job = await stub.GetJob(pb.GetJobRequest(job_id=unset.job_id))
    assert (job.priority, job.max_attempts, job.lease_ttl_sec, job.idempotency_key) == (100, 5, 60, "")


@pytest.mark.parametrize(
    "wrong",
    [
        {"queue": ""},
        {"queue": "a\nb"},
        {"queue": "q" * 64},
        {"lock_key": ""},
        {"lock_key": "\0"},
        {"task": "a\0"},
        {"args": struct({"a": "\0"})},
        {"max_attempts": 0},
        {"available_time": Timestamp(seconds=10**14)},
        {"available_time": Timestamp(seconds=253402300799)},
    ],
)
async def test_wrong_requests_are_refused(services: ApiServices, stub: JobServiceStub, wrong: dict[str, Any]) -> None:
    assert (await refused(stub.TriggerJob(request(**wrong)))).code() is INVALID
    assert (
        await refused(stub.TriggerJobs(pb.TriggerJobsRequest(jobs=[request(), request(**wrong)])))
    ).code() is INVALID
    assert await services.bench.value("SELECT count(*) FROM dl_jobs") == 0


async def test_numbers_that_json_does_not_have_are_refused(stub: JobServiceStub) -> None:
    args = Struct()
    args.fields["a"].number_value = float("nan")
    assert (await refused(stub.TriggerJob(request(args=args)))).code() is INVALID


async def test_batches_pages_journals_and_cancels(stub: JobServiceStub) -> None:
    batch = await stub.TriggerJobs(pb.TriggerJobsRequest(jobs=[request(lock_key=f"k{n}") for n in range(5)]))
    ids = [job.job_id for job in batch.jobs]
    twice = pb.TriggerJobsRequest(jobs=[request(idempotency_key="i")] * 2)
    assert (await refused(stub.TriggerJobs(twice))).code() is INVALID
    canceled = await stub.CancelJob(pb.CancelJobRequest(job_id=ids[0]))
    assert (canceled.status, canceled.cancel_requested) == (job_pb2.JOB_STATUS_CANCELED, True)
    first = await stub.ListJobs(pb.ListJobsRequest(page_size=3))
    second = await stub.ListJobs(pb.ListJobsRequest(page_size=3, page_token=first.next_page_token))
    assert [job.job_id for job in (*first.jobs, *second.jobs)] == sorted(ids, reverse=True)
    assert second.next_page_token == ""
    left = await stub.ListJobs(
        pb.ListJobsRequest(status=job_pb2.JOB_STATUS_QUEUED, lock_key="k3", queue="q", task="noop")
    )
    assert [job.job_id for job in left.jobs] == [ids[3]]
    assert (await refused(stub.ListJobs(pb.ListJobsRequest(page_token="x")))).code() is INVALID
    events = (await stub.ListJobEvents(pb.ListJobEventsRequest(job_id=ids[0]))).events
    assert [event.kind for event in events] == ["queued", "canceled"]
    assert events[1].event_id > events[0].event_id
    assert events[0].job_id == ids[0]
    calls: list[tuple[Any, Any]] = [
        (stub.GetJob, pb.GetJobRequest), (stub.CancelJob, pb.CancelJobRequest), (stub.RetryJob, pb.RetryJobRequest),
        (stub.ListJobEvents, pb.ListJobEventsRequest),
    ]  # fmt: skip
    for call, message in calls:
        assert (await refused(call(message(job_id=str(uuid4()))))).code() is grpc.StatusCode.NOT_FOUND
        assert (await refused(call(message(job_id="17")))).code() is INVALID


async def test_failed_jobs_go_back_singly_and_all_since_a_time(host: Host, bench: Bench, outage: Outage) -> None:
    async with host(work={"q": 4}) as services, grpc.aio.insecure_channel(services.grpc_address) as channel:
        stub: Any = JobServiceStub(channel)
        early = (await services.trigger(task="t", lock_key="a"))["job_id"]
        await services.ended(early)
        since = Timestamp()
        since.FromDatetime(await bench.value("SELECT clock_timestamp()"))
        late = [(await services.trigger(task="t", lock_key=f"k{n}"))["job_id"] for n in range(3)]
        for job_id in late:
            assert (await services.ended(job_id))["status"] == "failed"
        [queue] = (await stub.ListQueues(pb.ListQueuesRequest())).queues
        assert (queue.queue, queue.ended_last_minute, queue.failed_last_hour, queue.paused) == ("q", 4, 4, False)
        outage.is_over = True
        other = await stub.RetryJobs(pb.RetryJobsRequest(queue="q", task="none", failed_since=since))
        assert other.retried == 0
        assert (await stub.RetryJobs(pb.RetryJobsRequest(queue="q", task="t", failed_since=since))).retried == 3
        for job_id in late:
            assert (await services.ended(job_id))["status"] == "succeeded"
        job = await stub.GetJob(pb.GetJobRequest(job_id=late[0]))
        assert json_format.MessageToDict(job.result) == {"rows": [1, 2.5, None]}
        assert (await services.status(early))["status"] == "failed"
        assert (await stub.RetryJobs(pb.RetryJobsRequest(queue="q"))).retried == 1
        await services.ended(early)
        again = stub.RetryJob(pb.RetryJobRequest(job_id=early))
        assert (await refused(again)).code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_queues_and_their_limits(bench: Bench, stub: JobServiceStub) -> None:
    async with bench.db.transaction() as tx:
        limits = QueueLimits(max_running=3, max_running_per_partition=2, rate_per_s=1.5)
        await Queues().set_limits(tx, "q", limits)
    await stub.TriggerJob(request())
    paused = await stub.PauseQueue(pb.PauseQueueRequest(queue="q"))
    assert (paused.paused, paused.ready, paused.concurrency_limit, paused.partition_limit, paused.rate_limit) == (
        True, 1, 3, 2, 1.5,
    )  # fmt: skip
    assert paused.oldest_age_s >= 0
    assert not (await stub.ResumeQueue(pb.ResumeQueueRequest(queue="q"))).paused
    assert (await stub.ResumeQueue(pb.ResumeQueueRequest(queue="free"))).queue == "free"


async def test_queues_are_listed_by_one_query(stub: JobServiceStub, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = []
    stats = Queues.stats

    async def counted(self: Queues, tx: Any, **options: Any) -> Any:
        queries.append(options)
        return await stats(self, tx, **options)

    monkeypatch.setattr(Queues, "stats", counted)
    await stub.TriggerJob(request())
    [queue] = (await stub.ListQueues(pb.ListQueuesRequest())).queues
    assert (queue.queue, queue.ready, queue.workers, len(queries)) == ("q", 1, 0, 1)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("load.cbr", True),
        ("Ночная Очередь №1", True),
        ("a/b %41 ?", True),
        (" ", True),
        ("q" * 63, True),
        ("ж" * 63, True),
        ("q" * 64, False),
        ("a\tb", False),
        ("a\x7f", False),
        ("a\x85", False),
        ("", False),
    ],
)
async def test_names_of_queues_are_the_same_over_both_apis(
    services: ApiServices, stub: JobServiceStub, name: str, is_one: bool
) -> None:
    response = await services.http.post("/api/v1/jobs/trigger", json=services.request | {"queue": name})
    assert response.status_code == (200 if is_one else 400), response.text
    in_path = await services.http.post(f"/api/v1/queues/{quote(name, safe='')}/pause")
    assert in_path.status_code == (200 if is_one else 400), in_path.text
    calls = (
        stub.TriggerJob(request(queue=name)),
        stub.PauseQueue(pb.PauseQueueRequest(queue=name)),
        stub.ResumeQueue(pb.ResumeQueueRequest(queue=name)),
        stub.RetryJobs(pb.RetryJobsRequest(queue=name)),
        stub.ListJobs(pb.ListJobsRequest(queue=name or "\0")),
    )
    for call in calls:
        if is_one:
            await call
        else:
            error = await refused(call)
            assert error.code() is INVALID
            assert [violation.field for violation in from_rpc_error(error).violations] == ["queue"]
    found = (await services.http.get("/api/v1/jobs")).json()["jobs"]
    assert [job["queue"] for job in found] == [name] * 2 * is_one


async def test_watching_sends_changes_but_no_heartbeats_and_ends_with_the_job(host: Host, bench: Bench) -> None:
    steps = asyncio.Queue[Progress | None]()

    @bench.registry.register("steps")
    async def scan(ctx: Any, args: dict[str, Any]) -> Any:
        while (step := await steps.get()) is not None:
            yield step

    async with (
        host(work={"q": 1}, heartbeat_s=0.05) as services,
        grpc.aio.insecure_channel(services.grpc_address) as channel,
    ):
        stub: Any = JobServiceStub(channel)
        missing = stub.WatchJob(pb.WatchJobRequest(job_id=str(uuid4())))
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await missing.read()
        assert raised.value.code() is grpc.StatusCode.NOT_FOUND
        job_id = (await services.trigger(task="steps"))["job_id"]
        await services.until(job_id, lambda message: message["status"] == "running")
        stream = stub.WatchJob(pb.WatchJobRequest(job_id=job_id))
        seen = [await stream.read()]
        await steps.put(Progress(3, 10, {"file": "a.csv"}))
        seen.append(await stream.read())
        assert (seen[1].progress.processed, seen[1].progress.total) == (3, 10)
        assert dict(seen[1].progress.details) == {"file": "a.csv"}
        assert seen[1].heartbeat_time.ToNanoseconds() > 0
        locks = (await stub.GetLocks(pb.GetLocksRequest())).locks
        assert [(lock.lock_key, lock.job_id, lock.worker_id) for lock in locks] == [("k", job_id, seen[1].worker_id)]
        beaten = (await services.status(job_id))["heartbeat_at"]
        for _ in range(3):  # some heartbeats go by, and the polls of the watch
            await services.until(job_id, lambda message, beaten=beaten: message["heartbeat_at"] > beaten)
            beaten = (await services.status(job_id))["heartbeat_at"]
            await asyncio.sleep(0.2)
        await steps.put(None)
        rest = [await stream.read()]
        assert await stream.read() is grpc.aio.EOF
        assert [job.status for job in (*seen, *rest)] == [
            job_pb2.JOB_STATUS_RUNNING, job_pb2.JOB_STATUS_RUNNING, job_pb2.JOB_STATUS_SUCCEEDED,
        ]  # fmt: skip


async def test_a_watch_holds_up_no_drain(host: Host, bench: Bench) -> None:
    async with host() as services, grpc.aio.insecure_channel(services.grpc_address) as channel:
        stub: Any = JobServiceStub(channel)
        job_id = (await services.trigger())["job_id"]
        stream = stub.WatchJob(pb.WatchJobRequest(job_id=job_id))
        await stream.read()
        started = time.monotonic()
        services.stop.set()
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await stream.read()
        assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
        assert await services.task == 0
        assert time.monotonic() - started < 30, "long before the grace of 30 s is over"


async def test_the_requester_is_kept(host: Host, keys: KeyStore) -> None:
    async with host(keys=keys) as services:
        channel = open_channel(services.grpc_address, caller="operator", audience="loader", keys=keys)
        stub: Any = JobServiceStub(channel)
        job_id = (await stub.TriggerJob(request())).job_id
        await stub.CancelJob(pb.CancelJobRequest(job_id=job_id))
        events = (await stub.ListJobEvents(pb.ListJobEventsRequest(job_id=job_id))).events
        assert [(event.kind, dict(event.payload)) for event in events] == [
            ("queued", {"by": "operator"}), ("canceled", {"by": "operator"}),
        ]  # fmt: skip
        await channel.close()
        other: Any = JobServiceStub(open_channel(services.grpc_address, caller="api", audience="loader", keys=keys))
        assert (await refused(other.TriggerJob(request()))).code() is grpc.StatusCode.PERMISSION_DENIED


async def test_limits_of_a_queue_are_replaced_over_both_apis(services: ApiServices, stub: JobServiceStub) -> None:
    given: dict[str, Any] = {"concurrency_limit": 20, "partition_limit": 2, "rate_limit": 0.5, "rate_burst": 3}
    queue = await stub.SetQueueLimits(pb.SetQueueLimitsRequest(queue="q/1", **given))
    assert {name: getattr(queue, name) for name in given} == given
    url = f"/api/v1/queues/{quote('q/1', safe='')}/limits"
    shown = (await services.http.put(url, json={"concurrency_limit": 3})).json()
    assert {name: shown[name] for name in given} == dict.fromkeys(given) | {"concurrency_limit": 3}
    sql = "SELECT max_running, max_running_per_partition FROM dl_queues WHERE queue = 'q/1'"
    limits = (await services.bench.execute(sql))[0]
    assert limits == (3, None)
    queue = await stub.SetQueueLimits(pb.SetQueueLimitsRequest(queue="q/1"))
    assert {name: getattr(queue, name) for name in given} == dict.fromkeys(given, 0)
    refusals = [
        from_rpc_error(await refused(stub.SetQueueLimits(pb.SetQueueLimitsRequest(**wrong)))).reason
        for wrong in ({"queue": "q", "rate_burst": 3}, {"queue": "q", "concurrency_limit": -1}, {"queue": ""})
    ]
    assert refusals == ["REQUEST_INVALID"] * 3
    assert (await services.http.put(url, json={"concurrency_limit": 0})).status_code == 400


async def test_workers_are_listed_page_by_page_over_both_apis(services: ApiServices, stub: JobServiceStub) -> None:
    for number in range(3):
        await services.bench.execute("INSERT INTO dl_workers (worker_id, queues) VALUES (%s, '{q,r}')", f"w{number}")
    page = await stub.ListWorkers(pb.ListWorkersRequest(page_size=2))
    assert [(worker.worker_id, list(worker.queues), worker.running) for worker in page.workers] == [
        ("w0", ["q", "r"], 0), ("w1", ["q", "r"], 0),
    ]  # fmt: skip
    rest = await stub.ListWorkers(pb.ListWorkersRequest(page_token=page.next_page_token))
    assert ([worker.worker_id for worker in rest.workers], rest.next_page_token) == (["w2"], "")
    first = (await services.http.get("/api/v1/workers", params={"page_size": 2})).json()
    second = (await services.http.get("/api/v1/workers", params={"page_token": first["next_page_token"]})).json()
    shown = [worker["worker_id"] for part in (first, second) for worker in part["workers"]]
    assert (shown, second["next_page_token"]) == (["w0", "w1", "w2"], None)
