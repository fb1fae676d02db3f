-- name: register_worker
INSERT INTO dl_workers (worker_id, queues, hook_tasks) VALUES (%(worker)s, %(queues)s, %(hook_tasks)s)
ON CONFLICT (worker_id) DO UPDATE SET renewed_at = clock_timestamp()

-- name: renew_worker
UPDATE dl_workers SET renewed_at = clock_timestamp() WHERE worker_id = %(worker)s

-- name: leave_worker
-- Only when nothing is left running under its name: the reaper finds lost jobs through this row.
DELETE FROM dl_workers w
WHERE w.worker_id = %(worker)s
  AND NOT EXISTS (SELECT FROM dl_jobs j WHERE j.claimed_by = w.worker_id AND j.status = 'running')

-- name: claims_held
SELECT j.job_id, j.claim_no, j.cancel_requested
FROM dl_jobs j
WHERE j.claimed_by = %(worker)s AND j.status = 'running'

-- name: claims_held_of
-- The claims under which these jobs run now, by the primary key: named by whom, a plan could walk over all it has ended.
SELECT j.job_id, j.claim_no, j.cancel_requested
FROM dl_jobs j
WHERE j.claimed_by IS NOT NULL AND j.job_id = ANY (%(job_ids)s::uuid[])

-- name: admit_due
-- The rows are named by their primary key alone: with what they wait for, a plan could walk over all delayed jobs.
UPDATE dl_jobs SET waits_for = NULL
WHERE job_id = ANY (ARRAY(
    SELECT j.job_id FROM unnest(%(queues)s::text[]) AS q(queue) CROSS JOIN LATERAL (
        SELECT d.job_id FROM dl_jobs d
        WHERE d.queue = q.queue AND d.waits_for = 'time'
          AND d.available_at >= %(since)s::timestamptz AND d.available_at <= statement_timestamp()
        ORDER BY d.available_at LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED) AS j))
RETURNING queue, priority, created_at

-- name: next_due
-- And how long this took, and from where on to look the next time (DueLooks): those who enqueue at this moment commit a
-- little later.
SELECT extract(epoch FROM min(n.available_at) - clock_timestamp())::float8 AS in_s,
       extract(epoch FROM clock_timestamp() - statement_timestamp())::float8 AS walked_s,
       least(min(n.available_at), statement_timestamp() - interval '250 milliseconds')::text AS since
FROM unnest(%(queues)s::text[]) AS q(queue) CROSS JOIN LATERAL (
    SELECT d.available_at FROM dl_jobs d
    WHERE d.queue = q.queue AND d.waits_for = 'time' AND d.available_at >= %(since)s::timestamptz
    ORDER BY d.available_at LIMIT 1) AS n

-- name: admit_next
-- The first parked job of each freed key goes back to the claim index. One too many does no harm, one too few would stay
-- parked for ever: whatever frees a key, or takes away a job that was let in for it, calls this afterwards.
UPDATE dl_jobs SET waits_for = NULL
WHERE job_id = ANY (ARRAY(
    SELECT h.job_id FROM unnest(%(lock_keys)s::text[]) AS k(lock_key) CROSS JOIN LATERAL (
        SELECT p.job_id FROM dl_jobs p
        WHERE p.lock_key = k.lock_key AND p.waits_for = 'key'
        ORDER BY p.priority, p.created_at LIMIT 1
        FOR UPDATE) AS h))
RETURNING queue, priority, created_at

-- name: end_claims
-- Ends claims that are still held, in one statement for any number of them: to the archive, or back to the queue. Claims
-- that are not held any more (claim_no is the fence) are left out of the answer.
WITH {ended}, released AS (
    -- A running job holds its key, so the key alone names the row. In key order, as claims take them.
    DELETE FROM dl_job_locks WHERE lock_key = ANY (ARRAY(
        SELECT l.lock_key FROM dl_job_locks l
        WHERE l.lock_key = ANY (ARRAY(SELECT e.lock_key FROM ended e WHERE e.lock_key IS NOT NULL))
        ORDER BY l.lock_key
        FOR UPDATE))
), {archived}, returned AS (
    UPDATE dl_jobs j
    SET status = 'queued', claimed_by = NULL,
        waits_for = CASE WHEN f.delay_s > 0 THEN 'time' END,
        available_at = CASE WHEN f.delay_s > 0 THEN clock_timestamp() + f.delay_s * interval '1 second' ELSE j.available_at END,
        attempt = CASE WHEN f.outcome IN ('snoozed', 'returned') THEN j.attempt - 1 ELSE j.attempt END,
        -- A run that ended by itself, by a fault that passes, has shown that the job does not kill its worker.
        worker_deaths = CASE f.asked WHEN 'lost' THEN j.worker_deaths + 1 WHEN 'retry' THEN 0 ELSE j.worker_deaths END,
        unknown_faults = CASE f.asked WHEN 'fault' THEN j.unknown_faults + 1 ELSE j.unknown_faults END,
        error = coalesce(f.message, j.error)
    FROM final f
    WHERE NOT f.is_final AND j.job_id = f.job_id
      AND j.job_id = ANY (ARRAY(SELECT x.job_id FROM final x WHERE NOT x.is_final))
), told AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id, payload)
    SELECT f.job_id, k.kind, f.attempt, f.claim_no, f.claimed_by,
           CASE WHEN f.message IS NOT NULL OR f.delay_s > 0
                THEN jsonb_strip_nulls(jsonb_build_object('message', f.message, 'delay_s', f.delay_s)) END
    FROM final f CROSS JOIN LATERAL (
        SELECT 'heartbeat_lost' AS kind, 0 AS place WHERE f.asked = 'lost'
        UNION ALL
        SELECT 'quarantined', 1 WHERE f.reason = 'QUARANTINED'
        UNION ALL
        SELECT CASE f.outcome WHEN 'lost' THEN 'requeued' ELSE f.outcome END, 2
        ORDER BY 2) AS k
)
SELECT f.job_id, f.claim_no, f.outcome, f.lock_key, f.task, f.queue, f.attempt, f.reason,
       -- Whoever could not claim for a limit has to hear that there is room.
       f.queue = ANY (ARRAY(SELECT q.queue FROM dl_queues q
                            WHERE num_nonnulls(q.max_running, q.max_running_per_partition) > 0)) AS is_limited,
       f.priority, CASE WHEN NOT f.is_final AND f.delay_s <= 0 THEN f.created_at END AS back_to,
       -- For the hook of its task.
       CASE WHEN f.outcome IN ('failed', 'canceled') THEN f.args END AS args, f.message,
       set_config('dl_jobs.notify', %(notify)s, true)
FROM final f

-- name: finish_claims
-- The same for claims that end for good and hold no lock key, at less cost: nothing goes back, no key is freed. Answers in
-- one row: which claims were held, where not all of them were.
WITH {ended}, {archived}, told AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id, payload)
    SELECT f.job_id, f.outcome, f.attempt, f.claim_no, f.claimed_by,
           CASE WHEN f.message IS NOT NULL THEN jsonb_build_object('message', f.message) END
    FROM final f
)
SELECT CASE WHEN count(*) < cardinality(%(job_ids)s::uuid[]) THEN array_agg(f.job_id) END AS job_ids,
       CASE WHEN count(*) < cardinality(%(job_ids)s::uuid[]) THEN array_agg(f.claim_no) END AS claim_nos,
       count(*) AS held,
       -- Whoever could not claim for a limit has to hear that there is room.
       ARRAY(SELECT q.queue FROM dl_queues q
             WHERE num_nonnulls(q.max_running, q.max_running_per_partition) > 0
               AND q.queue IN (SELECT l.queue FROM final l)) AS limited
FROM final f

-- name: ended
ended AS MATERIALIZED (
    SELECT j.*, e.outcome AS asked, e.result, e.max_faults, e.message AS told,
           -- What make_due said while it ran stands on the row, so it is seen even by who waited for that row's lock.
           CASE WHEN e.outcome = 'snoozed' AND EXISTS (
                    SELECT FROM dl_job_events p
                    WHERE p.job_id = j.job_id AND p.claim_no = j.claim_no AND p.kind = 'picked' AND p.at < j.available_at)
                THEN 0 ELSE e.delay_s END AS delay_s,
           CASE WHEN e.outcome IN ('succeeded', 'failed', 'canceled') THEN e.outcome
                WHEN e.outcome = 'kept' THEN 'snoozed'
                WHEN j.cancel_requested THEN 'canceled'
                WHEN e.outcome IN ('retry', 'fault', 'lost') AND j.attempt >= j.max_attempts
                    OR e.outcome = 'lost' AND j.worker_deaths + 1 >= j.max_worker_deaths
                    OR e.outcome = 'fault' AND j.unknown_faults + 1 >= e.max_faults THEN 'failed'
                WHEN e.outcome = 'fault' THEN 'retry'
                ELSE e.outcome END AS outcome
    FROM unnest(%(job_ids)s::uuid[], %(claim_nos)s::integer[], %(outcomes)s::text[], %(messages)s::text[],
                %(results)s::jsonb[], %(delays_s)s::float8[], %(max_faults)s::integer[])
        AS e(job_id, claim_no, outcome, message, result, delay_s, max_faults)
    JOIN dl_jobs j ON j.job_id = e.job_id AND j.claim_no = e.claim_no
    WHERE j.claimed_by IS NOT NULL AND j.job_id = ANY (%(job_ids)s::uuid[])
    ORDER BY j.job_id
    FOR UPDATE OF j
), final AS MATERIALIZED (
    SELECT e.*, e.outcome IN ('succeeded', 'failed', 'canceled') AS is_final, r.reason,
           CASE r.reason WHEN 'QUARANTINED'
               THEN format('its worker died %%s times while it ran this job, at last alone: it is not run again until an '
                           'operator retries it', e.worker_deaths + 1)
               ELSE e.told END AS message
    FROM ended e CROSS JOIN LATERAL (
        SELECT CASE WHEN e.outcome = 'failed' AND e.asked = 'lost' AND e.worker_deaths + 1 >= e.max_worker_deaths
                        THEN 'QUARANTINED'
                    WHEN e.outcome = 'failed' AND e.asked = 'fault' AND e.unknown_faults + 1 >= e.max_faults
                        THEN 'UNKNOWN_FAULTS' END AS reason) AS r
)

-- name: archived
gone AS (
    DELETE FROM dl_jobs WHERE job_id = ANY (ARRAY(SELECT f.job_id FROM final f WHERE f.is_final))
), archived AS (
    INSERT INTO dl_jobs_done (job_id, queue, task, args, idempotency_key, lock_key, partition_key, priority, available_at,
        status, attempt, claim_no, max_attempts, lease_ttl_sec, cancel_requested, progress, checkpoint, error, result,
        producer, consumer_group, trace_context, created_at, started_at, finished_at, worker_deaths, max_worker_deaths,
        unknown_faults, reason)
    SELECT f.job_id, f.queue, f.task, f.args, f.idempotency_key, f.lock_key, f.partition_key, f.priority, f.available_at,
        f.outcome, f.attempt, f.claim_no, f.max_attempts, f.lease_ttl_sec, f.cancel_requested, f.progress, f.checkpoint,
        CASE WHEN f.outcome = 'succeeded' THEN NULL ELSE coalesce(f.message, f.error) END, f.result,
        f.producer, f.consumer_group, f.trace_context, f.created_at, f.started_at, clock_timestamp(),
        f.worker_deaths + (f.asked = 'lost')::integer, f.max_worker_deaths,
        f.unknown_faults + (f.asked = 'fault')::integer, f.reason
    FROM final f WHERE f.is_final
)

-- name: lock_lost
-- Running jobs whose process has not renewed within the job's own lease, locked for end_claims in this transaction.
-- statement_timestamp(): a volatile clock could not bound an index scan.
SELECT l.job_id, l.claim_no
FROM dl_workers w CROSS JOIN LATERAL (
    SELECT j.job_id, j.claim_no FROM dl_jobs j
    WHERE j.claimed_by = w.worker_id AND j.status = 'running'
      AND j.lease_ttl_sec < ceil(extract(epoch FROM statement_timestamp() - w.renewed_at))::integer
      AND {lost}
    ORDER BY j.lease_ttl_sec LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED) AS l
LIMIT %(limit)s

-- name: lost_without_hook
-- All but those that end here for good and whose task has a hook, by what we know or by what their worker knew. Nobody
-- may know that hook any more: after an hour the job ends without it.
((j.task = ANY (%(tasks)s::text[])
    OR j.task = ANY (w.hook_tasks) AND w.renewed_at > statement_timestamp() - interval '1 hour') AND {ends}) IS NOT TRUE

-- name: lost_with_hook
j.task = ANY (%(tasks)s::text[]) AND {ends} AND j.job_id <> ALL (%(without)s::uuid[])

-- name: ends
(j.cancel_requested OR j.attempt >= j.max_attempts OR j.worker_deaths + 1 >= j.max_worker_deaths)

-- name: next_expiry
SELECT extract(epoch FROM min(w.renewed_at + s.lease_ttl_sec * interval '1 second') - clock_timestamp())::float8 AS in_s
FROM dl_workers w CROSS JOIN LATERAL (
    SELECT j.lease_ttl_sec FROM dl_jobs j
    WHERE j.claimed_by = w.worker_id AND j.status = 'running'
    ORDER BY j.lease_ttl_sec LIMIT 1) AS s

-- name: guard_claim
-- Holds off the reaper, and every other end of this claim, until the effect's transaction ends; leaves progress and
-- cancellation alone. A process that stands still inside the transaction is cut off by the server after the lease.
SELECT set_config('idle_in_transaction_session_timeout', (j.lease_ttl_sec * 1000)::text, true)
FROM dl_jobs j
WHERE j.job_id = %(job_id)s AND j.claim_no = %(claim_no)s AND j.status = 'running'
FOR KEY SHARE OF j

-- name: save_checkpoint
UPDATE dl_jobs
SET checkpoint = %(checkpoint)s,
    worker_deaths = CASE WHEN %(is_progress)s THEN 0 ELSE worker_deaths END,
    unknown_faults = CASE WHEN %(is_progress)s THEN 0 ELSE unknown_faults END
WHERE job_id = %(job_id)s AND claim_no = %(claim_no)s AND status = 'running'

-- name: save_progress
-- Passes over rows that an effect holds: progress is worth no wait.
UPDATE dl_jobs j SET progress = p.progress
FROM unnest(%(job_ids)s::uuid[], %(claim_nos)s::integer[], %(progress)s::jsonb[]) AS p(job_id, claim_no, progress)
WHERE j.job_id = p.job_id AND j.claim_no = p.claim_no AND j.claimed_by IS NOT NULL
  AND j.job_id = ANY (ARRAY(
      SELECT l.job_id FROM dl_jobs l WHERE l.job_id = ANY (%(job_ids)s::uuid[]) FOR NO KEY UPDATE SKIP LOCKED))
