from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from classifeed_jobs import JobSettings, PipelineError, Retention, load_pipelines


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in JobSettings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def test_defaults(env: pytest.MonkeyPatch) -> None:
    settings = JobSettings.load()
    assert settings.workers_json == {"etl.default": 4, "feed.fetch": 4}
    assert (settings.dl_heartbeat_sec, settings.dl_default_lease_ttl_sec) == (10, 60)
    assert (settings.dl_reaper_period_sec, settings.dl_claim_backoff_sec) == (10, 15)
    assert settings.retention == Retention()
    assert conninfo_to_dict(settings.dsn)["host"] == "127.0.0.1"
    assert load_pipelines(settings.dl_pipeline_modules)["noop"].kind == "generator"


def test_values_of_the_environment(env: pytest.MonkeyPatch) -> None:
    env.setenv("WORKERS_JSON", '[{"queue":"load.cbr","concurrency":2}]')
    env.setenv("DL_PIPELINE_MODULES", "a.b, c")
    env.setenv("PG_HOST", "db")
    env.setenv("PG_PASSWORD", "p'w d")
    env.setenv("PG_COMMAND_TIMEOUT", "2.5")
    env.setenv("PG_MAX_OVERFLOW", "3")
    env.setenv("DL_DONE_DAYS", "9")
    env.setenv("DL_KEY_TTL_DAYS", "2")
    settings = JobSettings.load()
    assert settings.workers_json == {"load.cbr": 2}
    assert settings.dl_pipeline_modules == ("a.b", "c")
    dsn = conninfo_to_dict(settings.dsn)
    assert (dsn["host"], dsn["password"], dsn["options"]) == ("db", "p'w d", "-c statement_timeout=2500")
    assert settings.pool_max == 7
    assert settings.retention.done_days == 9
    assert settings.key_ttl_s == 2 * 24 * 3600
    assert "p'w d" not in repr(settings)


def test_dsn_wins_over_its_parts(env: pytest.MonkeyPatch) -> None:
    env.setenv("PG_HOST", "db")
    env.setenv("PG_DSN", "postgresql://u:p@other:7/d")
    dsn = conninfo_to_dict(JobSettings.load().dsn)
    assert (dsn["host"], dsn["port"], dsn["dbname"], dsn["connect_timeout"]) == ("other", "7", "d", "10")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("DL_HEARTBEAT_SEC", "soon", "DL_HEARTBEAT_SEC='soon' is refused: input should be a valid number"),
        ("DL_REAPER_PERIOD_SEC", "0", "DL_REAPER_PERIOD_SEC='0' is refused: input should be greater than 0"),
        ("WORKERS_JSON", '[{"queue":"a","concurrency":0}]', "is refused: must be a JSON list of"),
        ("WORKERS_JSON", '[{"queue":"a","concurrency":1},{"queue":"a","concurrency":1}]', "WORKERS_JSON="),
        ("WORKERS_JSON", "{", "WORKERS_JSON='{' is refused: must be a JSON list of"),
        ("TIMEZONE", "Mars/Olympus", "TIMEZONE='Mars/Olympus' is refused: the time zone is not known"),
        ("DL_HEARTBEAT_SEC", "90", "DL_HEARTBEAT_SEC=90 must be below DL_DEFAULT_LEASE_TTL_SEC=60"),
        ("PG_PORT", "99999", "PG_PORT='99999' is refused"),
    ],
)
def test_wrong_value_ends_the_start_with_a_line_that_names_it(
    env: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str, message: str
) -> None:
    env.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        JobSettings.load()
    lines = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert len(lines) == 1
    assert message in lines[0]


def test_module_that_cannot_be_loaded_is_named() -> None:
    with pytest.raises(PipelineError, match=r"module 'no\.such\.module' cannot be loaded: ModuleNotFoundError"):
        load_pipelines(["no.such.module"])
