"""Settings with the loader's prefix and without: their precedence, and errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from classifeed_common.runner.listening import ListenError, StartError
from classifeed_common.settings import describe_settings, load_settings
from classifeed_loader.bootstrap import build
from classifeed_loader.settings import Hosting, LoaderSettings


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.upper() in map(str.upper, Hosting.model_fields)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CLASSIFEED_LOADER_PROCESSOR_ADDRESS", "127.0.0.1:7")
    monkeypatch.setenv("CLASSIFEED_LOADER_S3_ENDPOINT", "http://127.0.0.1:9")


def loaded(monkeypatch: pytest.MonkeyPatch, **variables: str) -> LoaderSettings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return load_settings(LoaderSettings)


def test_alone_it_listens_on_8081_of_the_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch)
    assert settings.http_listen == "127.0.0.1:8081"
    assert (settings.db_schema, settings.environment, settings.log_level) == ("loader", "dev", "info")
    assert (settings.further_schemas, settings.time_zone, settings.db_use_pool) == ((), "Europe/Moscow", True)
    assert settings.log_time_zone == "UTC", "logs use the zone of the schedules only if it is set"
    assert (settings.log_path, settings.metric_path, settings.audit_log_path) == (None, None, None)
    assert settings.hosting.workers_json == {"etl.default": 4, "feed.fetch": 4}
    assert (settings.default_lease_s, settings.run_grace_s) == (60, 30)


def test_variables_without_a_prefix_fill_what_the_others_leave_open(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = loaded(
        monkeypatch,
        APP_HOST="::1",
        APP_PORT="9999",
        APP_ENVIRONMENT="prod",
        DEBUG="1",
        PG_HOST="db",
        PG_USER="u",
        PG_PASSWORD="p",
        PG_DATABASE="d",
        PG_SCHEMA_QUEUE="queue",
        PG_POOL_SIZE="7",
        PG_USE_POOL="false",
        PG_POOL_RECYCLE="77",
        TIMEZONE="Asia/Tokyo",
        LOG_PATH=str(tmp_path / "made" / "logs"),
        LOG_ROTATION="midnight",
        AUDIT_LOG_FILE_NAME="who.log",
        DL_DEFAULT_LEASE_TTL_SEC="33",
    )
    assert (settings.http_listen, settings.environment, settings.log_level) == ("[::1]:9999", "prod", "debug")
    assert "host=db" in settings.dsn.get_secret_value()
    assert (settings.db_schema, settings.further_schemas) == ("loader", ("queue",))
    assert (settings.db_pool_max, settings.db_use_pool, settings.db_pool_recycle_s) == (7, False, 77)
    assert (settings.time_zone, settings.log_rotation, settings.audit_log_file_name) == (
        "Asia/Tokyo", "midnight", "who.log",
    )  # fmt: skip
    assert settings.log_zone == ZoneInfo("Asia/Tokyo")
    assert settings.log_path == tmp_path / "made" / "logs"
    assert settings.log_path.is_dir()
    assert settings.default_lease_s == 33
    own = loaded(
        monkeypatch,
        CLASSIFEED_LOADER_HTTP_LISTEN="127.0.0.1:1",
        CLASSIFEED_LOADER_ENVIRONMENT="embedded",
        CLASSIFEED_LOADER_DSN="postgresql://one",
        CLASSIFEED_LOADER_DB_SCHEMA="own",
        CLASSIFEED_LOADER_DB_USE_POOL="true",
        CLASSIFEED_LOADER_TIME_ZONE="UTC",
        CLASSIFEED_LOADER_LOG_TIME_ZONE="Europe/London",
        CLASSIFEED_LOADER_LOG_PATH=str(tmp_path),
        CLASSIFEED_LOADER_LOG_ROTATION="1 GB",
        CLASSIFEED_LOADER_JOBS_LEASE_S="4",
        CLASSIFEED_LOADER_DRAIN_GRACE_S="3",
    )
    assert (own.http_listen, own.environment, own.db_schema) == ("127.0.0.1:1", "embedded", "own")
    assert own.dsn.get_secret_value() == "postgresql://one"
    assert (own.db_use_pool, own.time_zone, own.log_path, own.log_rotation) == (True, "UTC", tmp_path, "1 GB")
    assert own.log_zone == ZoneInfo("Europe/London")
    assert (own.default_lease_s, own.run_grace_s) == (4, 1.5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WORKERS_JSON", "[{}]"),
        ("APP_PORT", "70000"),
        ("DL_HEARTBEAT_SEC", "soon"),
        ("CLASSIFEED_HTTP_AUTH", "maybe"),
        ("TIMEZONE", "Mars/Olympus"),
        ("LOG_ROTATION", "10"),
        ("LOG_FILE_NAME", "../elsewhere"),
        ("PG_USE_POOL", "perhaps"),
        ("PG_POOL_RECYCLE", "0"),
        ("PG_SCHEMA_QUEUE", "Jobs; DROP"),
        ("DEBUG", "much"),
    ],
)
def test_a_wrong_one_ends_the_start_with_a_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        loaded(monkeypatch, **{name: value})
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{name}={value!r} is refused: ")


@pytest.mark.parametrize("name", ["LOG_PATH", "METRIC_PATH", "AUDIT_LOG_PATH"])
@pytest.mark.parametrize("prefix", ["", "CLASSIFEED_LOADER_"])
@pytest.mark.parametrize("folder", ["file/logs", "/proc"])
def test_a_folder_that_cannot_be_written_ends_the_start_with_a_line_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    name: str,
    prefix: str,
    folder: str,
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        loaded(monkeypatch, **{prefix + name: str(tmp_path / folder)})
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{prefix}{name}='{tmp_path / folder}' is refused: ")
    assert "cannot be written: " in line


def test_the_schema_of_the_service_is_none_of_its_own_for_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded(monkeypatch, PG_SCHEMA_QUEUE="loader").further_schemas == ()


async def test_what_cannot_be_served_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StartError, match=r"^DL_PIPELINE_MODULES: module 'no\.such' cannot be loaded: .*$"):
        build(loaded(monkeypatch, DL_PIPELINE_MODULES="no.such"))
    monkeypatch.delenv("DL_PIPELINE_MODULES")
    with pytest.raises(ListenError, match="CLASSIFEED_HTTP_AUTH=on needs CLASSIFEED_LOADER_KEYS_DIR"):
        build(loaded(monkeypatch, CLASSIFEED_HTTP_AUTH="on"))


def test_help_lists_both_kinds() -> None:
    text = describe_settings(LoaderSettings)
    for name in ("CLASSIFEED_LOADER_CONCURRENCY", "WORKERS_JSON", "DL_PIPELINE_MODULES", "APP_PORT", "PG_HOST"):
        assert f"\n{name}  [" in text, name
    assert "CLASSIFEED_LOADER_HOSTING" not in text


def test_settings_can_be_made_in_code() -> None:
    values: dict[str, Any] = {"hosting": {"app_port": 0}, "processor_address": "a:1"}
    assert LoaderSettings(**values).http_listen == "127.0.0.1:0"
