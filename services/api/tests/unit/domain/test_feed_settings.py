"""Settings of feeds: changes by a mask, refused values, and the field names in errors."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.feeds.v1.feed_pb2 import FeedCredentials, FeedSettings, FeedSource
from classifeed.feeds.v1.load_pb2 import DISPOSITION_DELETE, DISPOSITION_MAKE_MANUAL, LOAD_MODE_PATCH, LOAD_MODE_REPLACE
from classifeed_api.domain.credentials import check_credentials, wanted_credentials
from classifeed_api.domain.feed_settings import (
    ALL,
    MASK_PATHS,
    Limits,
    change,
    check_format,
    check_mask,
    check_settings,
    complete,
)
from classifeed_common.errors import InvalidArgument

LIMITS = Limits(min_interval_s=600)
URL = "https://shop.example/feed.yml"


def settings(**fields: Any) -> FeedSettings:
    return complete(ParseDict({"source": {"url": URL}, **fields}, FeedSettings()))


def refused_fields(caught: pytest.ExceptionInfo[InvalidArgument]) -> list[str]:
    return [violation.field for violation in caught.value.violations]


def test_what_is_left_out_gets_its_default_and_credentials_are_not_kept() -> None:
    given = FeedSettings(
        source=FeedSource(url=URL, credentials=FeedCredentials(headers={"X": "1"}), has_credentials=True)
    )
    kept = complete(given)
    assert kept.schedule.interval.seconds == 3600
    assert (kept.mode, kept.disposition) == (LOAD_MODE_REPLACE, DISPOSITION_DELETE)
    assert kept.source == FeedSource(url=URL)
    assert complete(kept) == kept


OTHER = {
    "source": {"url": "https://other.example/"},
    "schedule": {"interval": "7200s"},
    "mode": "LOAD_MODE_PATCH",
    "disposition": "DISPOSITION_MAKE_MANUAL",
    "format": "yml",
    "default_currency": "KZT",
}


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("settings", {"source", "schedule", "mode", "disposition", "format", "default_currency"}),
        ("settings.source", {"source"}),
        ("settings.source.url", {"source"}),
        ("settings.source.credentials", set()),
        ("settings.schedule", {"schedule"}),
        ("settings.schedule.interval", {"schedule"}),
        ("settings.mode", {"mode"}),
        ("settings.disposition", {"disposition"}),
        ("settings.format", {"format"}),
        ("settings.default_currency", {"default_currency"}),
    ],
)
def test_mask_changes_what_it_names_and_nothing_else(path: str, changed: set[str]) -> None:
    old, new = settings(), settings(**OTHER)
    check_mask([path])
    after = change(old, new, [path])
    assert {field for field in OTHER if getattr(after, field) == getattr(new, field)} == changed
    assert {field for field in OTHER if getattr(after, field) == getattr(old, field)} == set(OTHER) - changed
    assert new.mode == LOAD_MODE_PATCH
    assert new.disposition == DISPOSITION_MAKE_MANUAL


def test_every_path_of_the_mask_is_tried_above() -> None:
    assert len(MASK_PATHS) == 10


def test_schedule_named_and_left_out_is_the_default_again() -> None:
    old = settings(schedule={"interval": "7200s"})
    assert change(old, complete(FeedSettings()), ["settings.schedule"]).schedule.interval.seconds == 3600


@pytest.mark.parametrize(
    "path", ["", "*", "status", "settings.", "settings.url", "settings.source.has_credentials", "name"]
)
def test_other_paths_are_refused_by_name(path: str) -> None:
    with pytest.raises(InvalidArgument, match="update_mask") as caught:
        check_mask(["settings.mode", path])
    assert caught.value.reason == "UPDATE_MASK_INVALID"
    assert [repr(path) in violation.description for violation in caught.value.violations] == [True]


def test_what_is_no_currency_is_refused_by_its_field() -> None:
    limits = Limits(min_interval_s=600)
    check_settings(settings(default_currency="KZT"), ["settings"], limits, field="feed.settings")
    check_settings(settings(default_currency="QQQ"), ["settings.mode"], limits, field="feed.settings")
    with pytest.raises(InvalidArgument, match="ISO 4217") as caught:
        check_settings(settings(default_currency="QQQ"), ["settings"], limits, field="feed.settings")
    assert refused_fields(caught) == ["feed.settings.default_currency"]


def test_unknown_format_is_refused_with_those_there_are() -> None:
    check_format("yml", ["yml", "csv"], field="settings.format")
    with pytest.raises(InvalidArgument, match=r"'yaml' is not a known format.*yml, csv") as caught:
        check_format("yaml", ["yml", "csv"], field="settings.format")
    assert refused_fields(caught) == ["settings.format"]


def test_empty_mask_is_refused() -> None:
    with pytest.raises(InvalidArgument) as caught:
        check_mask([])
    assert refused_fields(caught) == ["update_mask"]


@pytest.mark.parametrize("interval", ["600s", "2592000s", "601.5s"])
def test_interval_within_the_bounds_is_taken(interval: str) -> None:
    check_settings(settings(schedule={"interval": interval}), ALL, LIMITS, field="settings")


@pytest.mark.parametrize("interval", ["599.999s", "0s", "-600s", "2592000.5s"])
def test_interval_outside_is_refused_unless_the_mask_leaves_it_alone(interval: str) -> None:
    odd = settings(schedule={"interval": interval})
    with pytest.raises(InvalidArgument, match="600 s to 2592000 s") as caught:
        check_settings(odd, ["settings.schedule"], LIMITS, field="feed.settings")
    assert refused_fields(caught) == ["feed.settings.schedule.interval"]
    check_settings(odd, ["settings.mode"], LIMITS, field="feed.settings")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://shop.example/feed.yml",
        "https://user:swordfish@shop.example/feed.yml",
        "http://127.0.0.1/feed.yml",
        "http://[::1]/feed.yml",
        "http://169.254.169.254/latest",
        "javascript:alert(1)",
    ],
)
def test_link_that_may_not_be_fetched_is_refused_without_repeating_its_secrets(url: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        check_settings(settings(source={"url": url}), ALL, LIMITS, field="settings")
    assert refused_fields(caught) == ["settings.source.url"]
    assert "swordfish" not in caught.value.message


def test_links_to_this_machine_are_taken_where_an_operator_says_so() -> None:
    allowed = Limits(600, allow_loopback=True)
    check_settings(settings(source={"url": "http://127.0.0.1:8099/feed.yml"}), ALL, allowed, field="settings")


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "Content-Length",
        "connection",
        "Transfer-Encoding",
        "TE",
        "Upgrade",
        "Proxy-Authorization",
        "proxy-connection",
        "Expect",
        "Accept-Encoding",
        "Range",
        "If-None-Match",
        "If-Modified-Since",
        "if-range",
    ],
)
def test_headers_that_the_connection_lives_by_are_refused_by_name(name: str) -> None:
    credentials = FeedCredentials(headers={name: "swordfish", "X-Key": "1"})
    with pytest.raises(InvalidArgument) as caught:
        check_credentials(credentials, field="settings.source.credentials")
    assert refused_fields(caught) == [f"settings.source.credentials.headers['{name}']"]
    assert "swordfish" not in caught.value.message


@pytest.mark.parametrize(
    ("credentials", "field"),
    [
        ({"basic_auth": {"username": "u"}, "headers": {"AUTHORIZATION": "x"}}, ".headers['AUTHORIZATION']"),
        ({"headers": {"X-Key": "1", "x-key": "2"}}, ".headers['x-key']"),
        ({"headers": {"X-Key": "ключ"}}, ".headers['X-Key']"),
        ({"basic_auth": {"username": "a:b"}}, ".basic_auth"),
        ({"headers": {f"X-{at}": "é" * 4096 for at in range(16)}}, ""),
    ],
)
def test_other_credentials_that_cannot_be_sent_are_refused(credentials: dict[str, Any], field: str) -> None:
    parsed = ParseDict(credentials, FeedCredentials())
    with pytest.raises(InvalidArgument) as caught:
        check_credentials(parsed, field="c")
    assert refused_fields(caught) in ([f"c{field}"], ["c.headers['X-Key']"])


def test_credentials_that_a_site_may_want_are_taken() -> None:
    check_credentials(
        FeedCredentials(headers={"Authorization": "Bearer x", "User-Agent": "shop/1", "Cookie": "a=b"}), field="c"
    )
    check_credentials(
        ParseDict({"basic_auth": {"username": "имя", "password": "пароль"}}, FeedCredentials()), field="c"
    )
    check_credentials(FeedCredentials(headers={f"X-{at}": "x" * 4096 for at in range(16)}), field="c")


GIVEN = FeedSource(credentials=FeedCredentials(headers={"X": "1"}))


@pytest.mark.parametrize(
    ("paths", "source", "given"),
    [
        (["settings"], FeedSource(), None),
        (["settings.source"], FeedSource(url=URL), None),
        (["settings.source.url"], GIVEN, None),
        (["settings.mode"], GIVEN, None),
        (["settings"], GIVEN, GIVEN.credentials),
        (["settings.source"], GIVEN, GIVEN.credentials),
        (["settings.source.credentials"], GIVEN, GIVEN.credentials),
        (["settings.source.credentials"], FeedSource(), FeedCredentials()),
        (["settings.source", "settings.source.credentials"], FeedSource(), FeedCredentials()),
        (["settings.source"], FeedSource(credentials=FeedCredentials()), FeedCredentials()),
    ],
)
def test_update_keeps_gives_or_removes_credentials(
    paths: list[str], source: FeedSource, given: FeedCredentials | None
) -> None:
    assert wanted_credentials(source, paths) == given
