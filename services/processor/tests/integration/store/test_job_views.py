"""The views over the job tables: waiting and running tasks, and locked namespaces."""

from __future__ import annotations

from typing import Any

from classifeed_jobs import JobStore


async def test_views_show_tasks_that_wait_and_namespaces_that_are_busy(migrated_database: Any) -> None:
    database = await migrated_database("classifeed_processor", "processor")
    async with database.transaction() as tx:
        args = {"seller_id": "s", "namespace": "n", "task_id": 7}
        key = "feedprocessor:s:n"
        job = await JobStore().enqueue(tx, "feed.process", "feed.process", args, lock_key=key)
        await JobStore().enqueue(tx, "processor.clean-up", "processor.clean-up", {}, lock_key="processor.clean-up")
        await tx.execute(
            "INSERT INTO dl_job_locks (lock_key, job_id, worker_id) VALUES (%s, %s, 'w')", [key, job.job_id]
        )
        await tx.execute(
            "INSERT INTO dl_job_locks (lock_key, job_id, worker_id) VALUES ('other', gen_random_uuid(), 'w')"
        )
        waiting = await (await tx.execute("SELECT seller_id, namespace, task_id FROM task_queue")).fetchall()
        busy = await (await tx.execute("SELECT context, seller_id, namespace FROM feed_locks")).fetchall()
    assert waiting == [("s", "n", 7)]
    assert busy == [("feedprocessor", "s", "n")]
