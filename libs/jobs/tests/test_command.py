"""`classifeed-jobs` reports its result, or an error with a fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import psycopg
import pytest
import structlog

from classifeed_jobs import Jobs, ddl
from classifeed_jobs.command import main
from classifeed_jobs.schema.ddl import VERSIONS

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Yield a function that calls the command and returns its exit code, output and error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = 0
        try:
            main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
        output, error = capsys.readouterr()
        return code, output, error

    before = structlog.get_config() if structlog.is_configured() else None
    structlog.reset_defaults()
    yield call
    structlog.reset_defaults()
    if before is not None:
        structlog.configure(**before)


def test_tables_jobs_and_queues(run: Run, database_dsn: str) -> None:
    given = ("--dsn", database_dsn, "--schema", "shop")
    newest = VERSIONS[-1]
    assert run(*given, "install")[1] == f"schema shop: version {newest}, applied {', '.join(map(str, VERSIONS))}\n"
    assert run(*given, "upgrade")[1] == f"schema shop: version {newest}, nothing to do\n"
    jobs = Jobs(database_dsn, schema="shop")
    with psycopg.connect(database_dsn) as connection:
        made = [jobs.enqueue_sync(connection, task, queue="mail") for task in ("greet", "refuse")]
    code, output, _ = run(*given, "list", "--queue", "mail")
    assert code == 0
    assert output.splitlines()[0].split() == ["JOB", "QUEUE", "TASK", "STATUS", "ATTEMPT", "CREATED"]
    assert {line.split()[0] for line in output.splitlines()[1:]} == {str(job.job_id) for job in made}
    _, output, _ = run(*given, "top", "--once")
    assert output.splitlines()[1].split()[:4] == ["mail", "2", "0", "0"]
    assert run(*given, "retry", "--queue", "mail")[1] == "0 jobs are back in their queue\n"
    code, _, error = run(*given, "retry", str(made[0].job_id))
    assert (code, "only a failed or canceled one can be retried" in error) == (1, True)
    code, _, error = run(*given, "retry", str(uuid4()))
    assert (code, "JOB_NOT_FOUND: there is no job" in error) == (1, True)


def test_sql_makes_the_tables_too(run: Run, database_dsn: str) -> None:
    _, output, _ = run("--schema", "shop", "sql")
    with psycopg.connect(database_dsn) as connection:
        connection.execute(output.encode())
        assert connection.execute("SELECT count(*) FROM shop.dl_jobs").fetchone() == (0,)
    _, newest, _ = run("sql", "--after", str(VERSIONS[-2]))
    assert newest.endswith(f"{ddl(VERSIONS[-1])}\n")
    assert ddl(1) not in newest


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("install",), 2, "name the database: --dsn, the variable JOBS_DSN, or --app module:name"),
        (("--dsn", "host=127.0.0.1", "worker"), 2, "worker needs --app module:name, where the tasks are registered"),
        (("--app", "no_such_module:jobs", "list"), 2, "--app no_such_module:jobs: ModuleNotFoundError"),
        (("--app", "json:jobs", "list"), 2, "json has no Jobs named jobs"),
        (("--dsn", "host=127.0.0.1", "retry"), 2, "retry needs a JOB, or --queue for all failed jobs of a queue"),
        (("--app", "x", "worker", "--queue", "mail"), 2, "'mail' is not NAME=N with N of 1 or more"),
    ],
)
def test_what_is_missing_is_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, message: str
) -> None:
    monkeypatch.delenv("JOBS_DSN", raising=False)
    found, _, error = run(*arguments)
    assert (found, message in error) == (code, True), error


def test_a_schema_without_tables_is_named(run: Run, database_dsn: str) -> None:
    code, _, error = run("--dsn", database_dsn, "list")
    assert (code, error) == (
        1,
        "classifeed-jobs: schema jobs has no job tables: run `classifeed-jobs install` first\n",
    )
