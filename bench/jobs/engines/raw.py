"""The upper bound: one connection that runs plain SQL for each batch, with a fence, a journal and a done table.

It has no leases, keys, retries or dispatch, only the writes that every engine with a journal needs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import psycopg

from bench.jobs.engines import Started

_TABLES = """
CREATE TABLE IF NOT EXISTS raw_jobs (
    job_id uuid PRIMARY KEY, priority int NOT NULL, created_at timestamptz NOT NULL, status text NOT NULL,
    claim_no int NOT NULL, args jsonb NOT NULL);
CREATE INDEX IF NOT EXISTS raw_jobs_claim ON raw_jobs (priority, created_at) WHERE status = 'queued';
CREATE TABLE IF NOT EXISTS raw_done (job_id uuid PRIMARY KEY, args jsonb NOT NULL, finished_at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS raw_events (
    job_id uuid NOT NULL, at timestamptz NOT NULL, kind text NOT NULL, claim_no int NOT NULL);
"""
_CLAIM = """
WITH found AS (
    SELECT job_id FROM raw_jobs WHERE status = 'queued' ORDER BY priority, created_at LIMIT %s FOR UPDATE SKIP LOCKED),
claimed AS (
    UPDATE raw_jobs j SET status = 'running', claim_no = j.claim_no + 1 FROM found f WHERE j.job_id = f.job_id
    RETURNING j.job_id, j.claim_no),
told AS (INSERT INTO raw_events SELECT job_id, clock_timestamp(), 'picked', claim_no FROM claimed)
SELECT job_id, claim_no FROM claimed
"""
_END = """
WITH ended AS (
    DELETE FROM raw_jobs j USING unnest(%s::uuid[], %s::int[]) AS e (job_id, claim_no)
    WHERE j.job_id = e.job_id AND j.claim_no = e.claim_no AND j.status = 'running'
    RETURNING j.job_id, j.args, j.claim_no),
told AS (INSERT INTO raw_events SELECT job_id, clock_timestamp(), 'succeeded', claim_no FROM ended)
INSERT INTO raw_done SELECT job_id, args, clock_timestamp() FROM ended
"""


class Engine:
    knobs = "one connection, one statement to claim, one to end"

    async def open(self, dsn: str) -> None:
        self._connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
        await self._connection.execute(_TABLES)

    async def close(self) -> None:
        await self._connection.close()

    async def fill(self, count: int) -> None:
        await self._connection.execute(
            "INSERT INTO raw_jobs SELECT gen_random_uuid(), 100, clock_timestamp(), 'queued', 0, '{}'"
            " FROM generate_series(1, %s)",
            [count],
        )

    async def enqueue(self, number: int) -> None:
        raise NotImplementedError

    async def drain(self, count: int, batch: int) -> None:
        left = count
        while left > 0:
            claimed = await (await self._connection.execute(_CLAIM, [batch])).fetchall()
            await self._connection.execute(_END, [[row[0] for row in claimed], [row[1] for row in claimed]])
            left -= len(claimed)

    async def serve(self, started: Started, body: Callable[[], Awaitable[Any]], batch: int = 10) -> None:
        raise NotImplementedError
