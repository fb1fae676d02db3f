"""No hot statement scans a table that grows with the loads."""

from __future__ import annotations

import re

import pytest

from classifeed_common.db import load_queries

TASK = {"seller_id": "s7", "namespace": "default", "task_id": 3}
TASKS = {"sellers": ["s7", "s8"], "namespaces": ["default", "default"], "task_ids": [3, 3]}
BATCHES = TASKS | {"runs": [1, 1], "batch_ids": [5, 6]}
PAGE = {
    "run": 1, "after_level": 1, "after_external_id": "a", "after_error_id": "", "level": 0, "kind": 0, "code": "",
    "external_id": "", "limit": 101,
}  # fmt: skip
ERRORS = {
    name: []
    for name in (
        "external_ids", "error_ids", "ordinals", "levels", "kinds", "codes", "fields", "lines", "columns", "paths",
        "excerpts", "values", "expecteds", "titles", "messages", "suggestions",
    )
}  # fmt: skip
HOT = [
    ("tasks.sql", "lock_counter", TASK),
    ("tasks.sql", "find_upload", {"upload_id": "s7-3"}),
    ("tasks.sql", "lock_task", TASK),
    ("tasks.sql", "read_state", TASK),
    ("tasks.sql", "find_earlier", TASK),
    ("tasks.sql", "drop_batches", TASK | {"run": 2}),
    ("tasks.sql", "count_unanswered", TASK | {"run": 1}),
    ("results.sql", "lock_tasks", TASKS),
    ("results.sql", "answer_batches", BATCHES),
    ("results.sql", "lock_statistics", TASK),
    ("results.sql", "insert_errors", TASK | {"run": 1} | ERRORS),
    ("reading.sql", "get_task", TASK),
    ("reading.sql", "list_tasks", TASK | {"before": 9, "limit": 51}),
    ("reading.sql", "list_errors", TASK | PAGE),
]


@pytest.fixture
async def seeded(migrated_database):
    database = await migrated_database("classifeed_processor", "processor")
    async with database.transaction() as tx:
        await tx.execute(
            """
            INSERT INTO tasks (seller_id, namespace, task_id, kind, status, phase, run, mode, disposition, upload_id,
                               source_sha256, source_bytes, file_name, ended_at)
            SELECT 's' || s, 'default', t, 1, 3, 3, 1, 1, 1, 's' || s || '-' || t, '', 0, '',
                   CASE WHEN t < 20 THEN clock_timestamp() END
            FROM generate_series(1, 200) s, generate_series(1, 20) t
            """
        )
        await tx.execute("INSERT INTO task_counters SELECT 's' || s, 'default', 20 FROM generate_series(1, 200) s")
        await tx.execute("INSERT INTO feed_statistics SELECT seller_id, namespace, task_id, 1, '' FROM tasks")
        await tx.execute(
            """
            INSERT INTO offer_batches (seller_id, namespace, task_id, run, batch_id, records, answered_at)
            SELECT seller_id, namespace, task_id, 1, b, 100, clock_timestamp() FROM tasks, generate_series(1, 10) b
            """
        )
        await tx.execute(
            """
            INSERT INTO offer_errors
            SELECT seller_id, namespace, task_id, 'o' || e, md5(e::text), 1, e, 1 + e % 2, 1, 'PRICE_INVALID', 'price',
                   e, 1, '', '', '', '', '', '', ''
            FROM tasks, generate_series(1, 10) e
            """
        )
    async with database.connection() as connection:
        await connection.execute("ANALYZE")
    return database


async def test_hot_statements_go_by_an_index(seeded):
    scans = []
    for file, name, parameters in HOT:
        statement = load_queries("classifeed_processor.store", file)[name]
        async with seeded.transaction() as tx:
            plan = "\n".join(row[0] for row in await (await tx.execute("EXPLAIN " + statement, parameters)).fetchall())
        scans += [f"{name}:\n{plan}" for table in re.findall(r"Seq Scan on (\w+)", plan)]
    assert not scans, "\n\n".join(scans)
