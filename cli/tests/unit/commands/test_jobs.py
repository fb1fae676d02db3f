"""Commands for jobs: their requests to the services, and their output for people and programs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.jobs.v1 import job_pb2, job_service_pb2, schedule_pb2

Snapshot = Callable[[str, Any], None]
ID = "01a2008f-239e-7fba-aedf-7ec77d0f0aea"
OTHER = "01a20090-0000-7aaa-8bbb-7ec77d0f0bbb"
JOB = {
    "job_id": ID,
    "queue": "etl.default",
    "task": "load.customers",
    "args": {"file": "customers.csv", "rows": 3},
    "status": "JOB_STATUS_RUNNING",
    "attempt": 2,
    "claim_no": 3,
    "max_attempts": 5,
    "lock_key": "customers",
    "priority": 100,
    "lease_ttl_sec": 60,
    "progress": {"processed": 1250, "total": 30000, "details": {"file": "customers.csv"}},
    "error": "TimeoutError: the bank did not answer",
    "producer": "cli",
    "worker_id": "etl-1:4711:0a1b2c3d",
    "create_time": "2026-11-21T19:50:03Z",
    "available_time": "2026-11-21T19:50:03Z",
    "start_time": "2026-11-21T19:50:04Z",
    "heartbeat_time": "2026-11-21T19:51:04Z",
}
MISSING = ("NOT_FOUND", "JOB_NOT_FOUND", f"there is no job {ID}")


def job(**changes: Any) -> job_pb2.Job:
    return ParseDict({**JOB, **changes}, job_pb2.Job())


def done(status: str = "SUCCEEDED", **changes: Any) -> job_pb2.Job:
    return job(status=f"JOB_STATUS_{status}", worker_id="", end_time="2026-11-21T19:52:00Z", **changes)


def ago(hours: float) -> str:
    """Return a time, half an hour longer ago, so that a slow machine does not count one more."""
    moment = Timestamp()
    moment.FromSeconds(int(time.time() - (hours + 0.5) * 3600))
    return moment.ToJsonString()


def queue(name: str, **changes: Any) -> job_pb2.Queue:
    return ParseDict({"queue": name, **changes}, job_pb2.Queue())


@pytest.fixture
def processor(api: Any, monkeypatch: pytest.MonkeyPatch, terminal: Any) -> Iterator[Any]:
    """Yield a second service with jobs; `api` is the loader and offers."""
    made = type(api)()
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(made.handlers())
    made.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    made.stop = lambda: server.stop(None).wait()
    monkeypatch.setenv("CLASSIFEED_PROCESSOR_ADDRESS", made.address)
    yield made
    made.stop()


def test_trigger_calls_the_loader(api: Any, processor: Any, terminal: Any, snapshot: Snapshot) -> None:
    api.respond("TriggerJob", job_service_pb2.TriggerJobResponse(job_id=ID, status="JOB_STATUS_QUEUED"))
    before = time.time()
    ended = terminal(
        "jobs", "trigger", "etl.default", "load.customers", "--lock-key", "customers",
        "--args", '{"file": "a.csv", "rows": 3}', "--priority", "0", "--delay", "1h30m", "--max-attempts", "2",
        "--idempotency-key", "i", "--partition-key", "p", "--lease", "9",
    )  # fmt: skip
    snapshot("jobs-trigger", ended)
    [request] = api.requests["TriggerJob"]
    assert (request.queue, request.task, request.lock_key, request.producer) == (
        "etl.default", "load.customers", "customers", "cli",
    )  # fmt: skip
    assert dict(request.args) == {"file": "a.csv", "rows": 3}
    assert (request.priority, request.max_attempts, request.lease_ttl_sec) == (0, 2, 9)
    assert request.HasField("priority")
    assert (request.idempotency_key, request.partition_key) == ("i", "p")
    assert 5400 <= request.available_time.ToNanoseconds() / 1e9 - before < 5460
    assert "TriggerJob" not in processor.requests
    assert terminal("jobs", "trigger", "q", "t", "--lock-key", "k").exit_code == 0
    plain = api.requests["TriggerJob"][1]
    assert plain == job_service_pb2.TriggerJobRequest(queue="q", task="t", lock_key="k", producer="cli")


@pytest.mark.parametrize("args", ["[1]", "{", "5", "[" * 100_000])
def test_args_must_be_an_object(api: Any, terminal: Any, args: str) -> None:
    ended = terminal("jobs", "trigger", "q", "t", "--lock-key", "k", "--args", args)
    assert (ended.exit_code, api.requests) == (2, {})


@pytest.mark.parametrize("words", [("t", "--args", '{"a": "\\ud800"}'), ("t\ud800",)])
def test_half_a_surrogate_pair_is_named(api: Any, terminal: Any, words: tuple[str, ...]) -> None:
    ended = terminal("jobs", "trigger", "q", *words, "--lock-key", "k")
    assert (ended.exit_code, api.requests) == (2, {})
    shown = " ".join(ended.err.split())
    assert "an argument has the character U+D800, which is no valid text: remove it" in shown


def test_a_used_key_shows_what_differs(api: Any, terminal: Any) -> None:
    response = job_service_pb2.TriggerJobResponse(job_id=ID, status="JOB_STATUS_SUCCEEDED", differs=["task", "args"])
    api.respond("TriggerJob", response)
    ended = terminal("jobs", "trigger", "q", "t", "--lock-key", "k", "--idempotency-key", "i", "--json")
    assert ended.document == {"job_id": ID, "status": "SUCCEEDED", "differs": ["task", "args"]}
    assert "other task, args" in ended.err


def test_waiting_shows_progress_and_ends_as_the_job_does(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    api.respond("TriggerJob", job_service_pb2.TriggerJobResponse(job_id=ID, status="JOB_STATUS_QUEUED"))
    api.respond("WatchJob", [job(), done(result={"rows": 3}, error="")])
    ended = terminal("jobs", "trigger", "q", "t", "--lock-key", "k", "--wait")
    snapshot("jobs-trigger-wait", ended)
    # The watch is interrupted by a restart and repeated.
    api.respond("WatchJob", [job()], [done("FAILED")])
    failed = terminal("jobs", "trigger", "q", "t", "--lock-key", "k", "--wait", "--json")
    assert (failed.exit_code, failed.document["status"], failed.document["service"]) == (1, "FAILED", "loader")
    api.respond("WatchJob", [job()])
    late = terminal("jobs", "trigger", "q", "t", "--lock-key", "k", "--wait", "--timeout", "0.3", "--json")
    assert (late.exit_code, late.document["error"]["reason"]) == (4, "JOB_NOT_ENDED")
    assert late.document["error"]["metadata"] == {"job_id": ID}


def test_waiting_leaves_no_trace_of_the_call(api: Any, terminal: Any, caplog: pytest.LogCaptureFixture) -> None:
    stop = threading.Event()

    def for_ever(_: Any) -> Iterator[job_pb2.Job]:
        yield job()
        stop.wait(20)

    api.respond("GetJob", job())
    api.respond("WatchJob", [job(), done()], for_ever)
    assert terminal("jobs", "status", ID, "--wait").exit_code == 0
    late = terminal("jobs", "status", ID, "--wait", "--timeout", "0.5")
    stop.set()
    assert (late.exit_code, caplog.messages) == (4, [])
    [progress, *shown] = late.err.splitlines()
    assert progress.startswith("running")
    assert " ".join(map(str.strip, shown)) == f"classifeed: Job {ID} has not completed within 0.5 s; it continues."


def test_status_finds_whose_job_it_is(
    api: Any, processor: Any, terminal: Any, snapshot: Snapshot, refusal: Any
) -> None:
    api.respond("GetJob", refusal(*MISSING))
    processor.respond("GetJob", job())
    snapshot("jobs-status", terminal("jobs", "status", ID))
    shown = terminal("jobs", "status", ID, "--json").document
    assert (shown["service"], shown["status"], shown["progress"]["processed"]) == ("processor", "RUNNING", "1250")
    processor.respond("GetJob", refusal(*MISSING))
    none = terminal("jobs", "status", ID, "--json")
    assert (none.exit_code, none.document["error"]["reason"]) == (1, "JOB_NOT_FOUND")
    processor.stop()
    away = terminal("jobs", "status", ID)
    assert away.exit_code == 3, "it may be the job of the one that does not answer"
    assert terminal("jobs", "status", ID, "--service", "loader").exit_code == 1
    assert terminal("jobs", "status", ID, "--service", "api").exit_code == 2


def test_status_shows_the_journal(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    api.respond("GetJob", done())
    events = {
        "events": [
            {"event_id": 1, "kind": "queued", "time": "2026-11-21T19:50:03Z", "payload": {"by": "operator"}},
            {"event_id": 2, "kind": "picked", "time": "2026-11-21T19:50:04Z", "attempt": 1},
            {
                "event_id": 3,
                "kind": "heartbeat_lost",
                "time": "2026-11-21T19:51:04Z",
                "attempt": 1,
                "payload": {"n": 3},
            },
        ]
    }
    api.respond("ListJobEvents", ParseDict(events, job_service_pb2.ListJobEventsResponse()))
    snapshot("jobs-status-journal", terminal("jobs", "status", ID, "--journal"))
    shown = terminal("jobs", "status", ID, "--journal", "--json").document
    assert [event["kind"] for event in shown["events"]] == ["queued", "picked", "heartbeat_lost"]


def test_lists_of_all_services_are_one(
    api: Any, processor: Any, terminal: Any, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = job(job_id=OTHER, queue="feed.process", task="feed.process", create_time=ago(5), start_time=ago(3))
    older = done("FAILED", create_time=ago(50), start_time=ago(49), error="ValueError: " + "row 7 has no name, " * 20)
    newer.error = ""
    newer.lock_key, newer.partition_key = "feedprocessor:my-shop:default", "my-shop"
    older.end_time.FromJsonString(ago(47))
    api.respond("ListJobs", job_service_pb2.ListJobsResponse(jobs=[older]))
    processor.respond("ListJobs", job_service_pb2.ListJobsResponse(jobs=[newer]))
    snapshot("jobs-list", terminal("jobs", "list"))
    with monkeypatch.context() as pipe:
        for name in ("COLUMNS", "TTY_COMPATIBLE"):
            pipe.delenv(name)
        head, line, *_ = terminal("jobs", "list").out.splitlines()
    assert head.split()[-2:] == ["seller", "key"]
    assert line.split()[-2:] == ["my-shop", "feedprocessor:my-shop:default"], "to be found by grep, with the job's id"
    ended = terminal("jobs", "list", "--queue", "q", "--status", "failed", "--task", "t", "--lock-key", "k", "--json")
    assert [(each["service"], each["job_id"]) for each in ended.document["jobs"]] == [
        ("processor", OTHER), ("loader", ID),
    ]  # fmt: skip
    for request in (api.requests["ListJobs"][2], processor.requests["ListJobs"][2]):
        assert request == job_service_pb2.ListJobsRequest(
            page_size=20, queue="q", status="JOB_STATUS_FAILED", task="t", lock_key="k"
        )
    assert len(terminal("jobs", "list", "--limit", "1", "--json").document["jobs"]) == 1
    processor.stop()
    partly = terminal("jobs", "list", "--json")
    assert (partly.exit_code, partly.document["unreachable"]) == (3, ["processor"])
    assert "processor is left out" in partly.err
    assert terminal("jobs", "list", "--service", "processor").exit_code == 3


def test_cancel_and_retry_go_to_the_owner(api: Any, processor: Any, terminal: Any, refusal: Any) -> None:
    api.respond("GetJob", refusal(*MISSING))
    processor.respond("GetJob", job())
    processor.respond("CancelJob", job(cancel_requested=True))
    ended = terminal("jobs", "cancel", ID)
    assert (ended.out, ended.exit_code) == (f"{ID}: stop requested\n", 0)
    processor.respond("RetryJob", job(status="JOB_STATUS_QUEUED", attempt=0))
    assert terminal("jobs", "retry", ID, "--json").document["status"] == "QUEUED"
    processor.respond("RetryJob", refusal("FAILED_PRECONDITION", "JOB_NOT_FAILED", "it is running"))
    assert terminal("jobs", "retry", ID).exit_code == 1
    assert set(api.requests) == {"GetJob"}


def test_failed_jobs_are_retried_in_bulk(api: Any, processor: Any, terminal: Any) -> None:
    api.respond("RetryJobs", job_service_pb2.RetryJobsResponse(retried=3))
    processor.respond("RetryJobs", job_service_pb2.RetryJobsResponse(retried=1))
    ended = terminal("jobs", "retry", "--queue", "q", "--task", "t", "--since", "1h")
    assert ended.out == "4 jobs wait for another attempt.\n"
    [request] = api.requests["RetryJobs"]
    assert (request.queue, request.task) == ("q", "t")
    assert 3590 < time.time() - request.failed_since.ToNanoseconds() / 1e9 < 3660
    assert terminal("jobs", "retry").exit_code == 2
    assert terminal("jobs", "retry", ID, "--queue", "q").exit_code == 2


def test_queues_are_paused_where_they_are(api: Any, processor: Any, terminal: Any, snapshot: Snapshot) -> None:
    busy = queue(
        "etl.default", ready=1_234_567, delayed=99_999, parked=45_000_000, running=800, workers=2, oldest_age_s=4000,
        ended_last_minute=520_000,
    )  # fmt: skip
    held = queue("feed.fetch", paused=True, workers=2)
    api.respond("ListQueues", job_service_pb2.ListQueuesResponse(queues=[busy, held]))
    own = queue("feed.process", running=1, workers=12)
    processor.respond("ListQueues", job_service_pb2.ListQueuesResponse(queues=[own]))
    snapshot("jobs-queues", terminal("jobs", "queues"))
    processor.respond("PauseQueue", queue("feed.process", paused=True))
    api.respond("ResumeQueue", queue("feed.fetch"))
    assert terminal("jobs", "pause", "feed.process").out == "feed.process of processor is paused.\n"
    assert terminal("jobs", "resume", "feed.fetch").out == "feed.fetch of loader is resumed.\n"
    unknown = terminal("jobs", "pause", "later", "--json")
    assert (unknown.exit_code, unknown.document["error"]["reason"]) == (1, "QUEUE_NOT_FOUND")
    api.respond("PauseQueue", queue("later", paused=True))
    shown = terminal("jobs", "pause", "later", "--service", "loader", "--json").document
    assert (shown["queues"][0]["service"], shown["queues"][0]["paused"]) == ("loader", True)
    assert "PauseQueue" in api.requests
    assert "ResumeQueue" not in processor.requests


def test_what_responds_is_listed_in_time_though_another_hangs(
    api: Any, processor: Any, terminal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_client.jobs.JobClient.__init__.__kwdefaults__", {"timeout_s": 0.5, "connect": None})
    may_respond = threading.Event()
    api.respond("ListQueues", job_service_pb2.ListQueuesResponse(queues=[queue("feed.fetch", workers=2)]))
    processor.respond("ListQueues", lambda _: may_respond.wait(60) and None)
    ended = terminal("jobs", "queues", "--json")
    assert (ended.exit_code, ended.document["unreachable"]) == (3, ["processor"])
    assert [each["queue"] for each in ended.document["queues"]] == ["feed.fetch"]
    assert f"processor at {processor.address} did not respond in time." in " ".join(ended.err.split())
    nobody = terminal("jobs", "queues", "--service", "processor")
    words = " ".join(nobody.err.split())
    assert (nobody.exit_code, "did not respond in time. `classifeed status` says what is wrong." in words) == (4, True)
    assert "Deadline Exceeded" not in words
    may_respond.set()


def test_services_are_called_at_the_same_time(api: Any, processor: Any, terminal: Any) -> None:
    both = threading.Barrier(2, timeout=8)
    for service in (api, processor):
        service.respond("ListJobs", lambda _: both.wait() is not None and job_service_pb2.ListJobsResponse())
    assert terminal("jobs", "list").exit_code == 0, "each answers once the other was asked"


def test_a_queue_that_may_be_at_a_silent_service_is_not_reported_missing(
    api: Any, processor: Any, terminal: Any
) -> None:
    api.respond("ListQueues", job_service_pb2.ListQueuesResponse())
    processor.stop()
    ended = terminal("jobs", "pause", "feed.process")
    assert (ended.exit_code, "processor does not" in " ".join(ended.err.split())) == (3, True)


def test_limits_are_replaced_and_shown(api: Any, processor: Any, terminal: Any) -> None:
    for service, name in ((api, "feed.fetch"), (processor, "feed.process")):
        service.respond("ListQueues", job_service_pb2.ListQueuesResponse(queues=[queue(name)]))

    def limited(request: job_service_pb2.SetQueueLimitsRequest) -> job_pb2.Queue:
        names = ("concurrency_limit", "partition_limit", "rate_limit", "rate_burst")
        return queue(request.queue, **{name: getattr(request, name) for name in names})

    api.respond("SetQueueLimits", limited)
    given = ("--running", "20", "--per-partition", "2", "--rate", "0.5", "--burst", "3")
    said = "20 at a time, 2 of one partition key, 0.5 started per second, 3 at once after an idle time."
    ended = terminal("jobs", "limit", "feed.fetch", *given)
    assert " ".join(ended.out.split()) == f"feed.fetch of loader runs at most {said}"
    assert terminal("jobs", "limit", "feed.fetch").out == "feed.fetch of loader has no limits.\n"
    shown = terminal("jobs", "limit", "feed.fetch", "--running", "3", "--json").document["queues"]
    assert [(each["service"], each["concurrency_limit"]) for each in shown] == [("loader", 3)]
    assert "SetQueueLimits" not in processor.requests


def test_workers(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    began, renewed = Timestamp(), Timestamp()
    began.FromSeconds(int(time.time()) - 7200)
    renewed.FromSeconds(int(time.time()) - 150)
    worker = job_pb2.Worker(
        worker_id="host:17:0a1b2c3d",
        queues=["etl.default", "feed.fetch"],
        start_time=began,
        renew_time=renewed,
        running=2,
    )

    def pages(request: job_service_pb2.ListWorkersRequest) -> job_service_pb2.ListWorkersResponse:
        token = "" if request.page_token else "next"
        return job_service_pb2.ListWorkersResponse(workers=[worker], next_page_token=token)

    api.respond("ListWorkers", pages)
    snapshot("jobs-workers", terminal("jobs", "workers"))
    assert [each["running"] for each in terminal("jobs", "workers", "--json").document["workers"]] == [2, 2]
    api.respond("ListWorkers", job_service_pb2.ListWorkersResponse())
    assert terminal("jobs", "workers").out == "No process runs jobs.\n"


def test_locks(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    since = Timestamp()
    since.FromSeconds(int(time.time()) - 7200)
    lock = job_pb2.Lock(lock_key="feed:shop:default", job_id=ID, worker_id="w", acquire_time=since, waiting=2)
    api.respond("GetLocks", job_service_pb2.GetLocksResponse(locks=[lock]))
    snapshot("jobs-locks", terminal("jobs", "locks"))
    assert terminal("jobs", "locks", "--json").document["locks"][0]["waiting"] == "2"
    api.respond("GetLocks", job_service_pb2.GetLocksResponse())
    assert terminal("jobs", "locks").out == "No lock key is held.\n"


def schedule(name: str, **changes: Any) -> schedule_pb2.Schedule:
    values = {"name": name, "queue": "q", "task": "t", "time_zone": "UTC", "next_slot_time": "2026-11-23T00:30:00Z"}
    return ParseDict(values | changes, schedule_pb2.Schedule())


def test_schedules_of_all_services_are_one(api: Any, processor: Any, terminal: Any, snapshot: Snapshot) -> None:
    nightly = schedule("nightly", cron="30 3 * * *", time_zone="Europe/Moscow", last_slot_time=ago(21))
    long = schedule(
        "exchange with the accounts of all sellers", cron="*/15 9-17 1,15 * mon-fri", time_zone="America/Sao_Paulo"
    )
    held = schedule("sweep", every_sec=5400, paused=True, paused_by="operator")
    held.ClearField("next_slot_time")
    api.respond("ListSchedules", job_service_pb2.ListSchedulesResponse(schedules=[long, nightly]))
    processor.respond("ListSchedules", job_service_pb2.ListSchedulesResponse(schedules=[held]))
    snapshot("jobs-schedules-list", terminal("jobs", "schedules", "list"))
    shown = terminal("jobs", "schedules", "list", "--json").document["schedules"]
    assert [(each["service"], each["name"]) for each in shown if each["service"] != "offers"] == [
        ("loader", long.name), ("loader", "nightly"), ("processor", "sweep"),
    ]  # fmt: skip
    assert (shown[1]["cron"], shown[1]["time_zone"], shown[1]["paused"]) == ("30 3 * * *", "Europe/Moscow", False)
    processor.stop()
    partly = terminal("jobs", "schedules", "list", "--json")
    assert (partly.exit_code, partly.document["unreachable"]) == (3, ["processor"])
    api.respond("ListSchedules", job_service_pb2.ListSchedulesResponse())
    assert terminal("jobs", "schedules", "list", "--service", "loader").out == "There are no schedules.\n"


def test_schedules_are_listed_up_to_a_limit(api: Any, terminal: Any) -> None:
    page = job_service_pb2.ListSchedulesResponse(schedules=[schedule("a", every_sec=60)], next_page_token="a")
    api.respond("ListSchedules", page)
    ended = terminal("jobs", "schedules", "list", "--service", "loader", "--limit", "1")
    assert "more than 1 of a service" in ended.out
    assert api.requests["ListSchedules"] == [job_service_pb2.ListSchedulesRequest(page_size=1)]


def test_schedules_are_paused_where_they_are(api: Any, processor: Any, terminal: Any, refusal: Any) -> None:
    missing = refusal("NOT_FOUND", "SCHEDULE_NOT_FOUND", "there is no schedule 'sweep'")
    api.respond("PauseSchedule", missing)
    api.respond("ResumeSchedule", missing)
    processor.respond("PauseSchedule", schedule("sweep", every_sec=60, paused=True))
    processor.respond("ResumeSchedule", schedule("sweep", every_sec=60))
    assert terminal("jobs", "schedules", "pause", "sweep").out == "sweep of processor is paused.\n"
    shown = terminal("jobs", "schedules", "resume", "sweep", "--json").document["schedules"]
    assert [(each["service"], each["name"], each["paused"]) for each in shown] == [("processor", "sweep", False)]
    assert processor.requests["PauseSchedule"] == [job_service_pb2.PauseScheduleRequest(name="sweep")]
    processor.respond("PauseSchedule", missing)
    none = terminal("jobs", "schedules", "pause", "sweep", "--json")
    assert (none.exit_code, none.document["error"]["reason"]) == (1, "SCHEDULE_NOT_FOUND")
    processor.stop()
    away = terminal("jobs", "schedules", "pause", "sweep")
    assert away.exit_code == 3, "it may be the schedule of the one that does not answer"
