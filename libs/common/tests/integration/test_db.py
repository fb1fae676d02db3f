from __future__ import annotations

import psycopg
import pytest

from classifeed_common.db import Database, is_passing_fault


async def test_a_transaction_commits_at_its_end_and_rolls_back_on_an_error(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute("CREATE TABLE things (id int)")
        await tx.execute("INSERT INTO things VALUES (1)")

    async def insert_and_fail() -> None:
        async with database.transaction() as tx:
            await tx.execute("INSERT INTO things VALUES (2)")
            raise LookupError

    with pytest.raises(LookupError):
        await insert_and_fail()
    async with database.connection() as connection:
        rows = await (await connection.execute("SELECT id FROM test.things")).fetchall()
    assert rows == [(1,)]


async def test_a_timeout_ends_the_statement_and_does_not_outlive_the_transaction(database: Database) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled) as caught:
        async with database.transaction(timeout_s=0.05) as tx:
            await tx.execute("SELECT pg_sleep(30)")
    assert is_passing_fault(caught.value)
    async with database.transaction() as tx:
        assert await (await tx.execute("SHOW statement_timeout")).fetchone() == ("0",)


async def test_a_transaction_that_stands_still_loses_its_locks(database_dsn: str, database: Database) -> None:
    impatient = Database(database_dsn, schema="test", application_name="paused", idle_in_transaction_s=0.1)
    await impatient.open()
    async with database.connection() as connection:
        await connection.execute("CREATE TABLE things (id int)")
        await connection.execute("INSERT INTO things VALUES (1)")

    async def stand_still() -> None:
        async with impatient.transaction() as paused:
            await paused.execute("UPDATE things SET id = 2")
            async with database.transaction(timeout_s=20) as tx:  # waits until the server ends `paused`
                await tx.execute("UPDATE things SET id = 3")
            await paused.execute("SELECT 1")

    with pytest.raises(psycopg.Error) as caught:
        await stand_still()
    await impatient.close()
    assert is_passing_fault(caught.value)
    async with database.connection() as connection:
        assert await (await connection.execute("SELECT id FROM things")).fetchall() == [(3,)]


async def test_a_dedicated_connection_hears_notifications_while_the_pool_is_used(database: Database) -> None:
    async with database.dedicated_connection() as listener:
        await listener.execute("LISTEN news")
        async with database.transaction() as tx:
            await tx.execute("NOTIFY news, 'hello'")
        heard = [note.payload async for note in listener.notifies(timeout=10, stop_after=1)]
    assert heard == ["hello"]


async def test_lasting_faults_are_not_passing(database: Database) -> None:
    with pytest.raises(psycopg.Error) as caught:
        async with database.transaction() as tx:
            await tx.execute("SELECT no_such_column")
    assert not is_passing_fault(caught.value)
    assert not is_passing_fault(ValueError())


async def test_a_pool_survives_the_end_of_its_connections(database: Database, database_dsn: str) -> None:
    async with database.connection() as connection:
        pid = connection.info.backend_pid
    with psycopg.connect(database_dsn, autocommit=True) as killer:
        killer.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    with pytest.raises(psycopg.OperationalError) as caught:
        async with database.transaction() as tx:
            await tx.execute("SELECT 1")
    assert is_passing_fault(caught.value)
    async with database.transaction() as tx:
        assert await (await tx.execute("SELECT 1")).fetchone() == (1,)


def test_a_schema_is_a_plain_name() -> None:
    with pytest.raises(ValueError, match="plain lower-case name"):
        Database("", schema="a; DROP TABLE x", application_name="test")
