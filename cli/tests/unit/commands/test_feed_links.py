"""Commands for feeds: their requests to the service, and their output for people and programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.feeds.v1 import feed_pb2, feed_service_pb2, feed_source_service_pb2, task_pb2, task_service_pb2

Snapshot = Callable[[str, Any], None]
FEED: dict[str, Any] = {
    "name": "sellers/my-shop/feeds/default",
    "seller_id": "my-shop",
    "namespace": "default",
    "version": 3,
    "status": "FEED_STATUS_ACTIVE",
    "settings": {
        "source": {"url": "https://shop.example/export/price.yml", "has_credentials": True},
        "schedule": {"interval": "5400s"},
        "mode": "LOAD_MODE_REPLACE",
        "disposition": "DISPOSITION_MAKE_MANUAL",
        "format": "yml",
    },
    "create_time": "2026-11-20T09:00:00Z",
    "update_time": "2026-11-21T09:00:00Z",
}
FETCH = {
    "name": "sellers/my-shop/feeds/default/fetches/14",
    "seller_id": "my-shop",
    "namespace": "default",
    "fetch_id": 14,
    "feed_version": 3,
    "trigger": "FETCH_TRIGGER_REQUEST",
    "create_time": "2026-11-21T19:50:03Z",
}
WAITING = {
    **FETCH,
    "outcome": "FETCH_OUTCOME_QUEUED",
    "message": "shop.example allows no requests before 2026-11-21 20:00:00 UTC. "
    "The file is downloaded after that time.",
}
FAILED = {
    **FETCH,
    "outcome": "FETCH_OUTCOME_FAILED",
    "code": "HTTP_404",
    "message": "The site answered 404 Not Found for https://shop.example/export/price.yml. "
    "Open the link in a browser, and correct it with `classifeed feed set --url`.",
    "http_status": 404,
    "bytes": 1250,
    "start_time": "2026-11-21T19:50:03Z",
    "end_time": "2026-11-21T19:50:03.450Z",
}
LOADED = {
    **FETCH,
    "outcome": "FETCH_OUTCOME_LOADED",
    "http_status": 200,
    "bytes": 14310,
    "sha256": "ab" * 32,
    "task": "sellers/my-shop/feeds/default/tasks/7",
    "start_time": "2026-11-21T19:50:03Z",
    "end_time": "2026-11-21T19:50:05.300Z",
}
SAME = {
    **FETCH,
    "outcome": "FETCH_OUTCOME_NOT_MODIFIED",
    "message": "The site reports that the file is unchanged.",
    "http_status": 304,
    "task": "sellers/my-shop/feeds/default/tasks/7",
    "start_time": "2026-11-21T19:50:03Z",
    "end_time": "2026-11-21T19:50:03.100Z",
}
TASK = {
    "name": "sellers/my-shop/feeds/default/tasks/7",
    "seller_id": "my-shop",
    "namespace": "default",
    "task_id": 7,
    "kind": "TASK_KIND_LOAD",
    "status": "TASK_STATUS_SUCCEEDED",
    "phase": "TASK_PHASE_DONE",
    "source_bytes": 14310,
    "format": "yml",
    "fetch": "sellers/my-shop/feeds/default/fetches/14",
    "feed_version": 3,
    "expected_total": 33,
    "statistics": {"total": 33, "added": 30, "rejected_validation": 2, "duplicates": 1, "offers_per_second": 4012.3},
}


def feed(**changes: Any) -> feed_pb2.Feed:
    return ParseDict({**FEED, **changes}, feed_pb2.Feed())


def fetch(row: dict[str, Any], **changes: Any) -> feed_pb2.Fetch:
    return ParseDict({**row, **changes}, feed_pb2.Fetch())


def task(**changes: Any) -> task_pb2.Task:
    return ParseDict({**TASK, **changes}, task_pb2.Task())


def running(phase: str, total: int, expected: int) -> task_pb2.Task:
    return task(
        status="TASK_STATUS_IN_PROGRESS",
        phase=f"TASK_PHASE_{phase}",
        expected_total=expected,
        statistics={"total": total, "offers_per_second": 100},
    )


def test_add_sends_what_was_given(api: Any, terminal: Any, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIFEED_FEED_PASSWORD", "s3cret:x")
    api.respond("CreateFeed", feed(version=1))
    ended = terminal(
        "feed", "add", "https://shop.example/export/price.yml", "--seller", "my-shop", "--every", "1h30m",
        "--disposition", "MAKE_MANUAL", "--format", "yml", "--user", "robot", "--header", "X-Key: a: b", "--no-wait",
    )  # fmt: skip
    snapshot("feed-add", ended)
    request = api.requests["CreateFeed"][0]
    assert (request.parent, request.namespace, len(request.request_id)) == ("sellers/my-shop", "default", 36)
    expected = feed_pb2.FeedSettings(mode="LOAD_MODE_REPLACE", disposition="DISPOSITION_MAKE_MANUAL", format="yml")
    expected.source.url = "https://shop.example/export/price.yml"
    expected.source.credentials.basic_auth.username = "robot"
    expected.source.credentials.basic_auth.password = "s3cret:x"
    expected.source.credentials.headers["X-Key"] = "a: b"
    expected.schedule.interval.seconds = 5400
    assert request.settings == expected
    assert "s3cret" not in ended.out + ended.err


def test_add_names_the_namespace_to_look_at(api: Any, terminal: Any) -> None:
    api.respond("CreateFeed", feed(namespace="summer"))
    ended = terminal("feed", "add", "https://a.example/f", "--seller", "my-shop", "--namespace", "summer", "--no-wait")
    assert "classifeed feed fetches --seller my-shop --namespace summer" in ended.out
    settings = api.requests["CreateFeed"][0].settings
    assert not settings.source.HasField("credentials")
    assert not settings.HasField("schedule"), "the service's own default"


def test_password_is_prompted_for_and_is_no_argument(api: Any, terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    api.respond("CreateFeed", feed())
    prompts: list[str] = []

    def prompt(text: str, **options: Any) -> str:
        assert options["hide_input"]
        prompts.append(text)
        return "typed"

    monkeypatch.setattr("typer.prompt", prompt)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    add = ("feed", "add", "https://a.example/f", "--seller", "s", "--user", "robot", "--no-wait")
    assert terminal(*add).exit_code == 0
    assert prompts == ["Password of robot"]
    assert api.requests["CreateFeed"][0].settings.source.credentials.basic_auth.password == "typed"
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    ended = terminal(*add)
    assert (ended.exit_code, "set CLASSIFEED_FEED_PASSWORD" in " ".join(ended.err.split())) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--every", "soon"), "'soon' is not a duration; write it as 90s, 10m, 1h, 1h30m or 1d"),
        (("--every", "0s"), "'0s' is not a duration"),
        (("--header", "nonsense"), "write it as 'Name: value'"),
        (("--mode", "replace all"), "is not one of"),
    ],
)
def test_slips_are_usage_and_have_a_message(terminal: Any, arguments: tuple[str, ...], words: str) -> None:
    ended = terminal("feed", "add", "https://a.example/f", "--seller", "s", *arguments)
    assert (ended.exit_code, ended.out) == (2, "")
    assert words in " ".join(ended.err.split())


def test_show(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    state = {
        "feed_version": 3,
        "last_fetch_time": "2026-11-21T18:50:00Z",
        "next_fetch_time": "2026-11-21T20:50:00Z",
        "failures": 2,
        "last_fetch": FAILED,
    }
    api.respond("GetFeed", feed(state=state))
    snapshot("feed-show", terminal("feed", "show", "--seller", "my-shop"))
    snapshot("feed-show-json", terminal("feed", "show", "--seller", "my-shop", "--json"))
    api.respond("GetFeed", feed(status="FEED_STATUS_PAUSED", settings={"source": {"url": "https://a.example/f"}}))
    snapshot("feed-show-never-fetched", terminal("feed", "show", "--seller", "my-shop"))


def test_show_of_no_feed(api: Any, terminal: Any, snapshot: Snapshot, refusal: Any) -> None:
    api.respond("GetFeed", refusal("NOT_FOUND", "FEED_NOT_FOUND", "my-shop has no feed by link in default."))
    snapshot("feed-show-not-found", terminal("feed", "show", "--seller", "my-shop"))
    snapshot("feed-show-not-found-json", terminal("feed", "show", "--seller", "my-shop", "--json"))


def test_list_goes_through_the_pages(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    state = {"last_fetch_time": "2026-11-21T18:50:00Z", "failures": 12}
    long = {**FEED["settings"], "source": {"url": "https://shop.example/" + "very-long-path/" * 5 + "price.yml"}}
    pages = [
        feed_service_pb2.ListFeedsResponse(feeds=[feed()], next_page_token="next"),
        feed_service_pb2.ListFeedsResponse(feeds=[feed(namespace="summer-2026", state=state, settings=long)]),
    ]
    api.respond("ListFeeds", *pages)
    snapshot("feed-list", terminal("feed", "list", "--seller", "my-shop"))
    assert [request.page_token for request in api.requests["ListFeeds"]] == ["", "next"]
    api.respond("ListFeeds", pages[0])
    one = terminal("feed", "list", "--seller", "my-shop", "--limit", "1")
    assert "more than 1" in one.out
    api.respond("ListFeeds", feed_service_pb2.ListFeedsResponse())
    snapshot("feed-list-none", terminal("feed", "list", "--seller", "my-shop"))


def test_set_names_what_it_changes_and_nothing_else(api: Any, terminal: Any) -> None:
    api.respond("UpdateFeed", feed(version=4))

    def changed(*options: str) -> tuple[list[str], feed_pb2.FeedSettings]:
        ended = terminal("feed", "set", "--seller", "my-shop", *options)
        assert ended.exit_code == 0, ended
        request = api.requests["UpdateFeed"][-1]
        assert request.feed.name == FEED["name"]
        return list(request.update_mask.paths), request.feed.settings

    paths, settings = changed("--url", "https://b.example/f", "--every", "90")
    assert paths == ["settings.source.url", "settings.schedule.interval"]
    assert (settings.source.url, settings.schedule.interval.seconds) == ("https://b.example/f", 90)
    paths, settings = changed("--mode", "PATCH", "--disposition", "DELETE", "--format", "any")
    assert paths == ["settings.mode", "settings.disposition", "settings.format"]
    assert settings == feed_pb2.FeedSettings(mode="LOAD_MODE_PATCH", disposition="DISPOSITION_DELETE")
    for code, currency in (("rub", "RUB"), ("none", "")):
        paths, settings = changed("--currency", code)
        assert (paths, settings.default_currency) == (["settings.default_currency"], currency)
    assert "not the code of a currency" in terminal("feed", "set", "--seller", "s", "--currency", "$").err
    paths, settings = changed("--header", "X-A: 1", "--header", "X-B: 2")
    assert paths == ["settings.source.credentials"]
    assert dict(settings.source.credentials.headers) == {"X-A": "1", "X-B": "2"}
    paths, settings = changed("--no-credentials")
    assert (paths, settings.source.HasField("credentials")) == (["settings.source.credentials"], False)


def test_set_of_nothing_or_of_both_is_a_slip(api: Any, terminal: Any) -> None:
    nothing = terminal("feed", "set", "--seller", "s", "--json")
    assert (nothing.exit_code, nothing.document["error"]["reason"]) == (2, "USAGE")
    both = terminal("feed", "set", "--seller", "s", "--no-credentials", "--header", "X-A: 1")
    assert both.exit_code == 2
    assert "UpdateFeed" not in api.requests


def test_pause_and_resume(api: Any, terminal: Any) -> None:
    api.respond("PauseFeed", feed(status="FEED_STATUS_PAUSED"))
    api.respond("ResumeFeed", feed())
    paused = terminal("feed", "pause", "--seller", "my-shop", "--json")
    assert (paused.exit_code, paused.document["status"]) == (0, "PAUSED")
    resumed = terminal("feed", "resume", "--seller", "my-shop")
    assert (resumed.exit_code, resumed.out.splitlines()[0]) == (0, "Feed my-shop/default: ACTIVE, version 3")


def test_run_waits_for_the_fetch_and_for_its_load(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    api.respond("RunFeed", fetch(FETCH, outcome="FETCH_OUTCOME_QUEUED"))
    api.respond("GetFetch", fetch(WAITING), fetch(FETCH, outcome="FETCH_OUTCOME_RUNNING"), fetch(LOADED))
    watched = [running("UNSPECIFIED", 0, 0), running("PARSING", 0, 0), running("PARSING", 10, 33), task()]
    api.respond("WatchTask", watched)
    snapshot("feed-run", terminal("feed", "run", "--seller", "my-shop", "--force"))
    assert (api.requests["RunFeed"][0].force, len(api.requests["RunFeed"][0].request_id)) == (True, 36)
    assert api.requests["WatchTask"][0].name == TASK["name"]
    snapshot("feed-run-json", terminal("feed", "run", "--seller", "my-shop", "--json"))


@pytest.mark.parametrize(
    ("row", "name", "exit_code"),
    [(SAME, "feed-run-not-modified", 0), (FAILED, "feed-run-failed", 1)],
    ids=["nothing changed", "failed"],
)
def test_run_without_a_load(
    api: Any, terminal: Any, snapshot: Snapshot, row: dict[str, Any], name: str, exit_code: int
) -> None:
    api.respond("RunFeed", fetch(FETCH, outcome="FETCH_OUTCOME_QUEUED"))
    api.respond("GetFetch", fetch(row))
    ended = terminal("feed", "run", "--seller", "my-shop")
    snapshot(name, ended)
    assert ended.exit_code == exit_code
    document = terminal("feed", "run", "--seller", "my-shop", "--json").document
    assert (document["fetch"]["outcome"], document["task"]) == (row["outcome"].removeprefix("FETCH_OUTCOME_"), None)


def page_of(*rows: feed_pb2.Fetch) -> feed_source_service_pb2.ListFetchesResponse:
    return feed_source_service_pb2.ListFetchesResponse(fetches=rows)


def test_add_waits_for_the_first_load_and_ends_as_an_upload(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    api.respond("CreateFeed", feed())
    of_the_removed_feed = fetch(LOADED, fetch_id=9, feed_version=2)
    api.respond("ListFetches", page_of(), page_of(of_the_removed_feed), page_of(fetch(FETCH, outcome=1)))
    api.respond("GetFetch", fetch(FETCH, outcome="FETCH_OUTCOME_RUNNING"), fetch(LOADED))
    api.respond("WatchTask", [running("PARSING", 10, 33), task()])
    add = ("feed", "add", "https://a.example/f", "--seller", "my-shop")
    snapshot("feed-add-loaded", terminal(*add))
    assert [request.name for request in api.requests["WatchTask"]] == [TASK["name"]]
    document = terminal(*add, "--json").document
    assert (document["status"], document["fetch"]["load"]["status"]) == ("ACTIVE", "SUCCEEDED")
    assert document["task"]["task_id"] == "7"
    html = task(status="TASK_STATUS_FAILED", error_code="NOT_A_FEED", error_message="It is a web page.", statistics={})
    api.respond("WatchTask", [html])
    failed = terminal(*add)
    assert (failed.exit_code, "fault     NOT_A_FEED" in failed.out, "Fetch 14 of my-shop/default: load failed" in
            failed.out) == (1, True, True)  # fmt: skip
    api.respond("GetFetch", fetch(FAILED))
    assert terminal(*add).exit_code == 1
    api.respond("ListFetches", page_of(of_the_removed_feed))
    late = terminal(*add, "--timeout", "1", "--json")
    assert (late.exit_code, late.document["error"]["reason"]) == (4, "FETCH_NOT_BEGUN")
    assert terminal(*add, "--no-wait", "--json").document["fetch"] is None


LOAD = {"status": "TASK_STATUS_FAILED", "error_code": "NOT_A_FEED", "error_line": 1, "error_message": "It is a page."}
REFUSED_MOSTLY = {
    "status": "TASK_STATUS_SUCCEEDED", "statistics": {"total": 10_001, "added": 1, "rejected_validation": 10_000},
}  # fmt: skip


def test_the_load_of_a_link_is_shown_with_its_fetch_and_with_its_feed(
    api: Any, terminal: Any, snapshot: Snapshot
) -> None:
    page = fetch(LOADED, load=LOAD)
    same = fetch(SAME, fetch_id=15, load=LOAD)
    poor = fetch(LOADED, fetch_id=16, task="sellers/my-shop/feeds/default/tasks/8", load=REFUSED_MOSTLY)
    fine = fetch(LOADED, fetch_id=17, load={**REFUSED_MOSTLY, "statistics": {"total": 33, "added": 33}})
    rest = [fetch(LOADED, fetch_id=18, load={"status": f"TASK_STATUS_{each}"}) for each in ("IN_PROGRESS", "HELD")]
    unknown = fetch(LOADED, fetch_id=20)
    api.respond("ListFetches", page_of(unknown, *rest, fine, poor, same, page))
    snapshot("feed-fetches-loads", terminal("feed", "fetches", "--seller", "my-shop"))
    state = {"feed_version": 3, "last_fetch_time": "2026-11-21T18:50:00Z"}
    feeds = [feed(namespace=f"n{number}", state=state) for number in range(4)]
    for each, last in zip(feeds, (page, poor, fine, unknown), strict=True):
        each.state.last_fetch.CopyFrom(last)
    api.respond("ListFeeds", feed_service_pb2.ListFeedsResponse(feeds=feeds))
    snapshot("feed-list-loads", terminal("feed", "list", "--seller", "my-shop"))
    api.respond("GetFeed", feeds[0])
    shown = terminal("feed", "show", "--seller", "my-shop").out
    assert "fetch 14: load failed\n            load 7: FAILED NOT_A_FEED in line 1\n            It is a page." in shown
    api.respond("RunFeed", same)
    again = terminal("feed", "run", "--seller", "my-shop")
    assert (again.exit_code, "load 7: FAILED NOT_A_FEED in line 1" in again.out) == (1, True), "still no feed"


@pytest.mark.parametrize(
    ("option", "exit_code"),
    [((), 0), (("--fail-on-rejected",), 1), (("--fail-on-rejected=5%",), 1), (("--fail-on-rejected=0.1",), 0)],
)
def test_rejected_offers_fail_a_script_that_says_so(
    api: Any, terminal: Any, option: tuple[str, ...], exit_code: int
) -> None:
    api.respond("RunFeed", fetch(LOADED))
    api.respond("WatchTask", [task()])
    ended = terminal("feed", "run", "--seller", "my-shop", *option, "--json")
    assert (ended.exit_code, ended.document["task"]["status"]) == (exit_code, "SUCCEEDED")
    assert ("6.1% of the offers were rejected" in ended.err) == bool(exit_code)
    assert terminal("feed", "run", "--seller", "my-shop", "--fail-on-rejected=many").exit_code == 2


@pytest.mark.parametrize("status", ["FAILED", "HELD", "SUPERSEDED", "CANCELED"])
def test_run_is_refused_when_the_load_did_not_succeed(api: Any, terminal: Any, status: str) -> None:
    api.respond("RunFeed", fetch(LOADED))
    api.respond("WatchTask", [task(status=f"TASK_STATUS_{status}")])
    ended = terminal("feed", "run", "--seller", "my-shop", "--json")
    assert (ended.exit_code, ended.document["task"]["status"]) == (1, status)


def test_run_that_does_not_wait(api: Any, terminal: Any) -> None:
    api.respond("RunFeed", fetch(FETCH, outcome="FETCH_OUTCOME_QUEUED"))
    ended = terminal("feed", "run", "--seller", "my-shop", "--no-wait")
    assert (ended.exit_code, ended.out) == (0, "Fetch 14 of my-shop/default: queued\n")
    assert set(api.requests) == {"RunFeed"}


def test_run_that_takes_too_long(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    api.respond("RunFeed", fetch(FETCH, outcome="FETCH_OUTCOME_RUNNING"))
    api.respond("GetFetch", fetch(FETCH, outcome="FETCH_OUTCOME_RUNNING"))
    snapshot("feed-run-time-out", terminal("feed", "run", "--seller", "my-shop", "--timeout", "1"))


def test_fetches(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    dropped = {
        **FETCH,
        "fetch_id": 9,
        "outcome": "FETCH_OUTCOME_DROPPED",
        "message": "The feed was changed meanwhile.",
    }
    running = {**FETCH, "fetch_id": 15, "outcome": "FETCH_OUTCOME_RUNNING"}
    rows = [{**WAITING, "fetch_id": 16}, running, FAILED, {**LOADED, "fetch_id": 13}, dropped]
    api.respond(
        "ListFetches",
        feed_source_service_pb2.ListFetchesResponse(fetches=[fetch(row) for row in rows], next_page_token="x"),
    )
    snapshot("feed-fetches", terminal("feed", "fetches", "--seller", "my-shop", "--limit", "5"))
    assert api.requests["ListFetches"][0].page_size == 5
    document = terminal("feed", "fetches", "--seller", "my-shop", "--limit", "5", "--json").document
    assert [row["outcome"] for row in document["fetches"]] == ["QUEUED", "RUNNING", "FAILED", "LOADED", "DROPPED"]
    assert document["fetches"][2]["bytes"] == "1250"
    api.respond("ListFetches", feed_source_service_pb2.ListFetchesResponse())
    assert terminal("feed", "fetches", "--seller", "s").out == "s/default was never fetched.\n"


def test_a_namespace_of_uploads_alone_has_no_link_to_show(api: Any, terminal: Any) -> None:
    uploads = feed(settings={}, status="FEED_STATUS_ACTIVE")
    api.respond("GetFeed", uploads)
    shown = terminal("feed", "show", "--seller", "my-shop").out
    assert "source    uploads only; nothing is fetched" in shown
    assert "newest    2026-11-21 12:00:00" in shown
    assert not any(label in shown for label in ("link", "every", "fetched ", "removed"))
    api.respond("ListFeeds", feed_service_pb2.ListFeedsResponse(feeds=[uploads]))
    [_, line] = terminal("feed", "list", "--seller", "my-shop").out.splitlines()
    assert line.split() == ["default", "ACTIVE", "(uploads)"]


def test_a_namespace_that_is_unknown_is_removed_all_the_same(api: Any, terminal: Any, refusal: Any) -> None:
    missing = refusal("NOT_FOUND", "FEED_NOT_FOUND", "There is none.")
    api.respond("GetFeed", missing)
    api.respond("DeleteFeed", feed(status="FEED_STATUS_REMOVED", version=5))
    done = task(kind="TASK_KIND_DELETE", feed_version=5)
    api.respond("ListTasks", task_service_pb2.ListTasksResponse(tasks=[done]))
    api.respond("WatchTask", [done])
    ended = terminal("feed", "remove", "--seller", "my-shop")
    assert (ended.exit_code, "Feed my-shop/default is removed." in ended.out) == (0, True)
    api.respond("DeleteFeed", missing)
    assert terminal("feed", "remove", "--seller", "my-shop", "--json").document["error"]["reason"] == "FEED_NOT_FOUND"


def test_a_removal_that_is_made_again_is_not_the_one_before(api: Any, terminal: Any) -> None:
    api.respond("GetFeed", feed(status="FEED_STATUS_REMOVED", version=5))
    api.respond("DeleteFeed", feed(status="FEED_STATUS_REMOVED", version=6))
    again = task(kind="TASK_KIND_DELETE", feed_version=6)
    api.respond("ListTasks", task_service_pb2.ListTasksResponse(tasks=[again]))
    api.respond("WatchTask", [again])
    assert "Feed my-shop/default is removed." in terminal("feed", "remove", "--seller", "my-shop").out


def test_remove_waits_for_the_task_of_this_removal(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    removal = {"kind": "TASK_KIND_DELETE", "source_bytes": 0, "format": "", "fetch": "", "statistics": {"removed": 30}}
    earlier = task(**removal, feed_version=2, task_id=6, name="sellers/my-shop/feeds/default/tasks/6")
    ours = task(**removal, feed_version=5, task_id=8, name="sellers/my-shop/feeds/default/tasks/8")
    api.respond("GetFeed", feed(version=5), feed(status="FEED_STATUS_REMOVED", version=5))
    api.respond("DeleteFeed", feed(status="FEED_STATUS_REMOVED", version=5))
    api.respond(
        "ListTasks",
        task_service_pb2.ListTasksResponse(tasks=[earlier]),
        task_service_pb2.ListTasksResponse(tasks=[ours, earlier]),
    )
    api.respond("WatchTask", [ours])
    snapshot("feed-remove", terminal("feed", "remove", "--seller", "my-shop", "--disposition", "MAKE_MANUAL"))
    assert api.requests["DeleteFeed"][0].disposition == 2
    assert api.requests["WatchTask"][0].name == ours.name
    document = terminal("feed", "remove", "--seller", "my-shop", "--json").document
    assert (document["feed"]["status"], document["task"]["task_id"]) == ("REMOVED", "8")
    again = terminal("feed", "remove", "--seller", "my-shop")
    assert (again.exit_code, "Feed my-shop/default was removed before." in again.out) == (0, True)


def test_remove_whose_task_does_not_come(api: Any, terminal: Any) -> None:
    api.respond("GetFeed", feed())
    api.respond("DeleteFeed", feed(status="FEED_STATUS_REMOVED", version=5))
    api.respond("ListTasks", task_service_pb2.ListTasksResponse())
    ended = terminal("feed", "remove", "--seller", "my-shop", "--timeout", "1", "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (4, "TASK_NOT_MADE")


def test_service_that_is_away(api: Any, terminal: Any, snapshot: Snapshot, refusal: Any) -> None:
    api.respond("RunFeed", refusal("UNAVAILABLE", "LOADER_UNAVAILABLE", "The loader does not answer. Try again."))
    snapshot("feed-run-unavailable", terminal("feed", "run", "--seller", "my-shop"))
    assert terminal("feed", "run", "--seller", "my-shop", "--json").document["error"]["reason"] == "LOADER_UNAVAILABLE"


@pytest.mark.parametrize("verb", ["list", "show", "pause", "resume", "run", "remove", "fetches"])
def test_names_that_cannot_be_are_refused_in_words(api: Any, terminal: Any, verb: str) -> None:
    ended = terminal("feed", verb, "--seller", "my shop")
    assert ended.exit_code == 1
    assert "must begin with a letter or digit" in " ".join(ended.err.split())
    assert api.requests == {}
    if verb != "list":
        assert terminal("feed", verb, "--seller", "s", "--namespace", "").exit_code == 2
