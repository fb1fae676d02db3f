-- name: enqueue_jobs
-- Returns one row for each request, in order. If the idempotency key was used before, no job is inserted: `created` is
-- false and find_key returns its job. An expired key is reused.
WITH requested AS MATERIALIZED (
    SELECT a.*, dl_new_job_id() AS job_id, coalesce(a.wanted_at, clock_timestamp()) AS available_at
    FROM unnest(%(queues)s::text[], %(tasks)s::text[], %(args)s::jsonb[], %(lock_keys)s::text[], %(idempotency_keys)s::text[],
                %(request_hashes)s::bytea[], %(partition_keys)s::text[], %(priorities)s::integer[],
                %(available_ats)s::timestamptz[], %(max_attempts)s::integer[], %(lease_ttls_sec)s::integer[],
                %(producers)s::text[], %(consumer_groups)s::text[], %(trace_contexts)s::jsonb[],
                %(max_worker_deaths)s::integer[])
         WITH ORDINALITY AS a(queue, task, args, lock_key, idempotency_key, request_hash, partition_key, priority, wanted_at,
                              max_attempts, lease_ttl_sec, producer, consumer_group, trace_context, max_worker_deaths, place)
), keyed AS (
    INSERT INTO dl_job_keys AS k (idempotency_key, job_id, request_hash, expires_at)
    SELECT a.idempotency_key, a.job_id, a.request_hash, clock_timestamp() + %(key_ttl_s)s * interval '1 second'
    FROM requested a WHERE a.idempotency_key IS NOT NULL ORDER BY a.idempotency_key
    ON CONFLICT (idempotency_key) DO UPDATE
        SET job_id = EXCLUDED.job_id, request_hash = EXCLUDED.request_hash, expires_at = EXCLUDED.expires_at
        WHERE k.expires_at <= clock_timestamp()
    RETURNING job_id
), accepted AS MATERIALIZED (
    SELECT a.* FROM requested a WHERE a.idempotency_key IS NULL OR a.job_id IN (SELECT k.job_id FROM keyed k)
), inserted AS (
    INSERT INTO dl_jobs (job_id, queue, task, args, idempotency_key, lock_key, partition_key, priority, available_at, waits_for,
                         max_attempts, lease_ttl_sec, producer, consumer_group, trace_context, max_worker_deaths, made_by)
    SELECT a.job_id, a.queue, a.task, a.args, a.idempotency_key, a.lock_key, a.partition_key, a.priority, a.available_at,
           CASE WHEN a.available_at > clock_timestamp() THEN 'time' END,
           a.max_attempts, a.lease_ttl_sec, a.producer, a.consumer_group, a.trace_context, a.max_worker_deaths,
           %(made_by)s::text
    FROM accepted a ORDER BY a.place
), noted AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, payload)
    SELECT a.job_id, 'queued', 0, 0, %(note)s::jsonb FROM accepted a
)
SELECT a.job_id, a.idempotency_key IS NULL OR a.job_id IN (SELECT x.job_id FROM accepted x) AS created
FROM requested a ORDER BY a.place

-- name: count_made_by
-- Number of incomplete jobs of a caller, counted up to a limit.
SELECT count(*) FROM (SELECT FROM dl_jobs j WHERE j.made_by = %(made_by)s::text LIMIT %(limit)s) AS open

-- name: find_key
SELECT k.job_id, k.request_hash,
       coalesce((SELECT j.status FROM dl_jobs j WHERE j.job_id = k.job_id),
                (SELECT d.status FROM dl_jobs_done d WHERE d.job_id = k.job_id)) AS status
FROM dl_job_keys k WHERE k.idempotency_key = %(idempotency_key)s

-- name: find_newest
-- A job id begins with the milliseconds of its creation.
WITH bound AS (
    SELECT (lpad(to_hex(%(until_ms)s::bigint + 1), 12, '0') || repeat('0', 20))::uuid AS job_id
)
SELECT ('x' || left(replace(newest.job_id::text, '-', ''), 12))::bit(48)::bigint
FROM (
    (SELECT job_id FROM dl_jobs WHERE job_id < (SELECT job_id FROM bound) ORDER BY job_id DESC LIMIT 1)
    UNION ALL
    (SELECT job_id FROM dl_jobs_done WHERE job_id < (SELECT job_id FROM bound) ORDER BY job_id DESC LIMIT 1)
) AS newest
ORDER BY newest.job_id DESC
LIMIT 1

-- name: list_unknown_keys
SELECT a.key FROM unnest(%(keys)s::text[]) AS a (key)
WHERE NOT EXISTS (SELECT FROM dl_job_keys k WHERE k.idempotency_key = a.key)

-- name: quieten
SELECT coalesce(current_setting('dl_jobs.notify', true), '') AS before, set_config('dl_jobs.notify', 'off', true)

-- name: unquieten
SELECT set_config('dl_jobs.notify', %(notify)s, true)

-- name: cancel_job
-- A queued job completes here. A running job is flagged, and its worker is notified.
WITH target AS MATERIALIZED (
    SELECT * FROM dl_jobs j WHERE j.job_id = %(job_id)s FOR NO KEY UPDATE
), removed AS (
    DELETE FROM dl_jobs WHERE job_id IN (SELECT t.job_id FROM target t WHERE t.status = 'queued')
), archived AS (
    INSERT INTO dl_jobs_done (job_id, queue, task, args, idempotency_key, lock_key, partition_key, priority, available_at,
        status, attempt, claim_no, max_attempts, lease_ttl_sec, cancel_requested, progress, checkpoint, error,
        producer, consumer_group, trace_context, created_at, started_at, finished_at, worker_deaths, max_worker_deaths,
        unknown_faults)
    SELECT t.job_id, t.queue, t.task, t.args, t.idempotency_key, t.lock_key, t.partition_key, t.priority, t.available_at,
        'canceled', t.attempt, t.claim_no, t.max_attempts, t.lease_ttl_sec, true, t.progress, t.checkpoint, t.error,
        t.producer, t.consumer_group, t.trace_context, t.created_at, t.started_at, clock_timestamp(), t.worker_deaths,
        t.max_worker_deaths, t.unknown_faults
    FROM target t WHERE t.status = 'queued'
), flagged AS (
    UPDATE dl_jobs SET cancel_requested = true
    WHERE job_id IN (SELECT t.job_id FROM target t WHERE t.status = 'running' AND NOT t.cancel_requested)
), noted AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id, payload)
    SELECT t.job_id, CASE t.status WHEN 'queued' THEN 'canceled' ELSE 'cancel_requested' END,
           t.attempt, t.claim_no, t.claimed_by, %(payload)s::jsonb
    FROM target t WHERE NOT t.cancel_requested
)
SELECT CASE t.status WHEN 'queued' THEN t.lock_key END AS freed_key,
       t.status = 'queued' AS has_ended, t.task, t.queue, t.attempt, t.args::text,
       CASE t.status WHEN 'running' THEN pg_notify('dl_jobs', 'cancel ' || t.claimed_by)::text END AS woken
FROM target t

-- name: make_due
-- Makes delayed jobs due. A running job that is snoozed is due immediately (part `ended` of finish.sql). In order of
-- job ids, like completions, to avoid deadlocks.
UPDATE dl_jobs SET available_at = clock_timestamp()
WHERE job_id = ANY (ARRAY(
    SELECT j.job_id FROM dl_jobs j
    WHERE j.job_id = ANY (%(job_ids)s::uuid[])
      AND (j.waits_for = 'time' AND j.available_at > statement_timestamp() OR j.status = 'running')
    ORDER BY j.job_id
    FOR NO KEY UPDATE))
RETURNING queue, waits_for

-- name: get_job
-- With `is_brief`, no column is read that may be stored outside the row (TOAST), where it may be damaged. Times outside
-- of Python's range are clamped.
SELECT job_id, queue, task, CASE WHEN NOT %(is_brief)s THEN args::text END AS args,
       idempotency_key, lock_key, partition_key, priority,
       least(greatest(available_at, '0001-01-02'), '9998-12-31') AS available_at, status, attempt, claim_no,
       claimed_by, max_attempts, lease_ttl_sec, lease_expires_at, heartbeat_at, cancel_requested,
       CASE WHEN NOT %(is_brief)s THEN progress::text END AS progress,
       CASE WHEN NOT %(is_brief)s THEN checkpoint::text END AS checkpoint,
       CASE WHEN NOT %(is_brief)s THEN error END AS error, CASE WHEN NOT %(is_brief)s THEN result::text END AS result,
       producer, consumer_group, least(greatest(created_at, '0001-01-02'), '9998-12-31') AS created_at, started_at, finished_at,
       worker_deaths, unknown_faults, reason
FROM dl_jobs_all WHERE job_id = %(job_id)s

-- name: list_jobs
-- Newest first: job ids increase with time. `after` is the last job id of the previous page.
SELECT job_id, queue, task, CASE WHEN NOT %(is_brief)s THEN args::text END AS args,
       idempotency_key, lock_key, partition_key, priority,
       least(greatest(available_at, '0001-01-02'), '9998-12-31') AS available_at, status, attempt, claim_no,
       claimed_by, max_attempts, lease_ttl_sec, lease_expires_at, heartbeat_at, cancel_requested,
       CASE WHEN NOT %(is_brief)s THEN progress::text END AS progress,
       CASE WHEN NOT %(is_brief)s THEN checkpoint::text END AS checkpoint,
       CASE WHEN NOT %(is_brief)s THEN error END AS error, CASE WHEN NOT %(is_brief)s THEN result::text END AS result,
       producer, consumer_group, least(greatest(created_at, '0001-01-02'), '9998-12-31') AS created_at, started_at, finished_at,
       worker_deaths, unknown_faults, reason
FROM dl_jobs_all
WHERE job_id < coalesce(%(after)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  AND (%(queue)s::text IS NULL OR queue = %(queue)s)
  AND (%(status)s::text IS NULL OR status = %(status)s)
  AND (%(task)s::text IS NULL OR task = %(task)s)
  AND (%(lock_key)s::text IS NULL OR lock_key = %(lock_key)s)
  AND (%(partition_key)s::text IS NULL OR partition_key = %(partition_key)s)
  AND (%(producer)s::text IS NULL OR producer = %(producer)s)
  AND (%(consumer_group)s::text IS NULL OR consumer_group = %(consumer_group)s)
ORDER BY job_id DESC
LIMIT %(limit)s

-- name: list_events
SELECT kind, at, attempt, claim_no, worker_id, payload, event_id FROM dl_job_events
WHERE job_id = %(job_id)s AND event_id > %(after)s
ORDER BY event_id
LIMIT %(limit)s

-- name: list_locks
-- The longest held first. `after` is the last lock of the previous page. `waiting` counts the jobs that a worker has
-- marked as blocked until the key is released.
SELECT l.lock_key, l.job_id, l.worker_id, l.acquired_at,
       (SELECT count(*) FROM dl_jobs j WHERE j.lock_key = l.lock_key AND j.waits_for = 'key') AS waiting
FROM (SELECT * FROM dl_job_locks h
      WHERE (h.acquired_at, h.lock_key) > (coalesce(%(after_at)s::timestamptz, '-infinity'), %(after_key)s::text)
      ORDER BY h.acquired_at, h.lock_key LIMIT %(limit)s) AS l
ORDER BY l.acquired_at, l.lock_key

-- name: list_workers
SELECT w.worker_id, w.queues, w.started_at, w.renewed_at,
       (SELECT count(*) FROM dl_jobs j WHERE j.claimed_by = w.worker_id AND j.status = 'running') AS running
FROM dl_workers w WHERE w.worker_id > %(after)s ORDER BY w.worker_id LIMIT %(limit)s

-- name: retry_jobs
-- Requeues completed jobs with all their attempts, and with counts of deaths and faults reset. The fence (claim_no) and
-- the checkpoint are kept. Jobs are processed in order of their ids, after `after`, so that slices do not scan earlier
-- ones. Jobs that another retry has locked are skipped. With `is_dry`, the jobs are only listed.
WITH picked AS MATERIALIZED (
    SELECT d.job_id, d.finished_at FROM dl_jobs_done d
    WHERE d.status = ANY (%(statuses)s::text[])
      AND d.status <> 'succeeded'  -- matches the partial index
      AND (%(job_id)s::uuid IS NULL OR d.job_id = %(job_id)s)
      AND (%(queue)s::text IS NULL OR d.queue = %(queue)s)
      AND (%(task)s::text IS NULL OR d.task = %(task)s)
      AND (%(lock_key)s::text IS NULL OR d.lock_key = %(lock_key)s)
      AND (%(partition_key)s::text IS NULL OR d.partition_key = %(partition_key)s)
      AND (%(producer)s::text IS NULL OR d.producer = %(producer)s)
      AND (%(consumer_group)s::text IS NULL OR d.consumer_group = %(consumer_group)s)
      AND (%(error)s::text IS NULL OR strpos(d.error, %(error)s) > 0)
      AND (%(since)s::timestamptz IS NULL OR d.finished_at >= %(since)s)
      AND (%(until)s::timestamptz IS NULL OR d.finished_at <= %(until)s)
      AND (%(after)s::uuid IS NULL OR d.job_id > %(after)s)
    ORDER BY d.job_id LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), removed AS (
    DELETE FROM dl_jobs_done d USING picked p
    WHERE d.job_id = p.job_id AND d.finished_at = p.finished_at AND NOT %(is_dry)s RETURNING d.*
), back AS (
    INSERT INTO dl_jobs (job_id, queue, task, args, idempotency_key, lock_key, partition_key, priority, claim_no, max_attempts,
                         max_worker_deaths, lease_ttl_sec, progress, checkpoint, error, producer, consumer_group,
                         trace_context, created_at, started_at)
    SELECT g.job_id, g.queue, g.task, g.args, g.idempotency_key, g.lock_key, g.partition_key, g.priority, g.claim_no,
           g.max_attempts, g.max_worker_deaths, g.lease_ttl_sec, g.progress, g.checkpoint, g.error, g.producer,
           g.consumer_group, g.trace_context, g.created_at, g.started_at
    FROM removed g
), noted AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, payload)
    SELECT g.job_id, 'retry_requested', g.attempt, g.claim_no, %(note)s::jsonb FROM removed g
)
SELECT p.job_id, g.queue FROM picked p LEFT JOIN removed g ON g.job_id = p.job_id ORDER BY p.job_id

-- name: count_live
SELECT queue, count(*) FROM dl_jobs
WHERE %(queues)s::text[] IS NULL OR queue = ANY (%(queues)s::text[])
GROUP BY queue
