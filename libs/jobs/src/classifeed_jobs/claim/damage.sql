-- Statements that find and set aside jobs that make batch statements fail (ADR 0093). Used only after such an error.

-- name: list_suspects
-- Jobs of these queues that are ready or due, and jobs that wait for a lock key of `holders`.
SELECT j.job_id FROM dl_jobs j
WHERE j.status = 'queued' AND j.job_id > %(after)s
  AND (j.queue = ANY (%(queues)s::text[])
           AND (j.waits_for IS NULL OR j.waits_for = 'time' AND j.available_at <= statement_timestamp())
       OR j.waits_for = 'key' AND j.lock_key = ANY (ARRAY(
           SELECT l.lock_key FROM dl_job_locks l WHERE l.job_id = ANY (%(holders)s::uuid[]))))
ORDER BY j.job_id LIMIT %(limit)s

-- name: examine_jobs
-- Reads the same columns and does the same arithmetic as the other statements. Longer keys do not fit into an index.
SELECT j.job_id,
       concat_ws(', ',
           CASE WHEN octet_length(j.lock_key) > 2600
                THEN format('its lock_key has %%s bytes', octet_length(j.lock_key)) END,
           CASE WHEN octet_length(j.partition_key) > 2000
                THEN format('its partition_key has %%s bytes', octet_length(j.partition_key)) END,
           CASE WHEN NOT (isfinite(j.created_at) AND isfinite(j.available_at) AND isfinite(coalesce(j.started_at, j.created_at)))
                THEN 'one of its times is infinite' END) AS why,
       j.attempt + 1 AS next_attempt, j.claim_no + 1 AS next_claim_no, j.worker_deaths + 1 AS next_deaths,
       j.unknown_faults + 1 AS next_faults,
       octet_length(concat(j.args, j.checkpoint, j.progress, j.trace_context, j.error, j.producer, j.consumer_group)) AS read_bytes
FROM dl_jobs j WHERE j.job_id = ANY (%(job_ids)s::uuid[])

-- name: set_aside
-- Fails a job that is queued, or held under `claim_no`. Unreadable values are not archived.
WITH removed AS (
    DELETE FROM dl_jobs j
    WHERE j.job_id = %(job_id)s AND (j.status = 'queued' OR j.claim_no = %(claim_no)s)
    RETURNING j.*
), released AS (
    DELETE FROM dl_job_locks l WHERE l.job_id = %(job_id)s AND EXISTS (SELECT FROM removed) RETURNING l.lock_key
), archived AS (
    INSERT INTO dl_jobs_done (job_id, queue, task, args, idempotency_key, lock_key, partition_key, priority, available_at,
        status, attempt, claim_no, max_attempts, lease_ttl_sec, cancel_requested, progress, checkpoint, error,
        producer, consumer_group, trace_context, created_at, started_at, finished_at, worker_deaths, max_worker_deaths,
        unknown_faults, reason)
    SELECT r.job_id, r.queue, r.task, CASE WHEN %(is_readable)s THEN r.args ELSE '{}' END,
        CASE WHEN %(is_readable)s THEN left(r.idempotency_key, 500) END,
        CASE WHEN %(is_readable)s THEN left(r.lock_key, 500) END,
        CASE WHEN %(is_readable)s THEN left(r.partition_key, 200) END,
        r.priority, CASE WHEN isfinite(r.available_at) THEN r.available_at ELSE clock_timestamp() END,
        'failed', r.attempt, r.claim_no, r.max_attempts, r.lease_ttl_sec, r.cancel_requested,
        CASE WHEN %(is_readable)s THEN r.progress END, CASE WHEN %(is_readable)s THEN r.checkpoint END, %(why)s,
        CASE WHEN %(is_readable)s THEN r.producer END, CASE WHEN %(is_readable)s THEN r.consumer_group END,
        CASE WHEN %(is_readable)s THEN r.trace_context END,
        CASE WHEN isfinite(r.created_at) THEN r.created_at ELSE clock_timestamp() END,
        CASE WHEN isfinite(r.started_at) THEN r.started_at END, clock_timestamp(), r.worker_deaths, r.max_worker_deaths,
        r.unknown_faults, 'UNREADABLE'
    FROM removed r
), noted AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id, payload)
    SELECT r.job_id, 'failed', r.attempt, r.claim_no, r.claimed_by, jsonb_build_object('message', %(why)s::text) FROM removed r
)
SELECT r.queue, r.task, r.attempt, CASE WHEN %(is_readable)s THEN r.args::text END AS args,
       array_remove(ARRAY[CASE WHEN %(is_readable)s THEN r.lock_key END, (SELECT l.lock_key FROM released l)], NULL) AS lock_keys
FROM removed r

-- name: put_off
-- Delays a job that cannot be completed, for a time or forever (NULL), so that it does not block others. Reads no
-- column that may be stored outside the row (TOAST).
WITH delayed AS (
    UPDATE dl_jobs SET status = 'queued', claimed_by = NULL, waits_for = 'time',
        available_at = coalesce(clock_timestamp() + %(for_s)s * interval '1 second', 'infinity')
    WHERE job_id = %(job_id)s AND (status = 'queued' OR claim_no = %(claim_no)s)
    RETURNING queue, task
), released AS (
    DELETE FROM dl_job_locks l WHERE l.job_id = %(job_id)s AND EXISTS (SELECT FROM delayed) RETURNING l.lock_key
)
SELECT d.queue, d.task, (SELECT l.lock_key FROM released l) AS lock_key FROM delayed d
