-- Made from finish.parts by `make stubs`; do not edit.

-- name: complete_claims
-- Completes claims that are still held, in one statement: their jobs go to the archive or back to the queue. Claims
-- that are no longer held (claim_no is the fence) have no row in the result.
WITH ended AS MATERIALIZED (
    SELECT j.*, e.outcome AS requested, e.result, e.max_faults, e.message AS noted, e.progress AS reported,
           -- make_due during the run has changed the row's available_at, so this sees it even after waiting for the row
           -- lock.
           CASE WHEN e.outcome = 'snoozed' AND EXISTS (
                    SELECT FROM dl_job_events p
                    WHERE p.job_id = j.job_id AND p.claim_no = j.claim_no AND p.kind = 'picked' AND p.at < j.available_at)
                THEN 0 ELSE e.delay_s END AS delay_s,
           CASE WHEN e.outcome IN ('succeeded', 'failed', 'canceled') THEN e.outcome
                WHEN e.outcome = 'unreadable' THEN 'failed'
                WHEN e.outcome = 'kept' THEN 'snoozed'
                WHEN j.cancel_requested THEN 'canceled'
                WHEN e.outcome IN ('retry', 'fault', 'lost') AND j.attempt >= j.max_attempts
                    OR e.outcome = 'lost' AND j.worker_deaths >= j.max_worker_deaths - 1
                    OR e.outcome = 'fault' AND j.unknown_faults >= e.max_faults - 1 THEN 'failed'
                WHEN e.outcome = 'fault' THEN 'retry'
                ELSE e.outcome END AS outcome
    FROM unnest(%(job_ids)s::uuid[], %(claim_nos)s::integer[], %(outcomes)s::text[], %(messages)s::text[],
                %(results)s::jsonb[], %(delays_s)s::float8[], %(max_faults)s::integer[], %(progress)s::jsonb[])
        AS e(job_id, claim_no, outcome, message, result, delay_s, max_faults, progress)
    JOIN dl_jobs j ON j.job_id = e.job_id AND j.claim_no = e.claim_no
    WHERE j.claimed_by IS NOT NULL AND j.job_id = ANY (%(job_ids)s::uuid[])
    ORDER BY j.job_id
    FOR UPDATE OF j
), final AS MATERIALIZED (
    SELECT e.*, e.outcome IN ('succeeded', 'failed', 'canceled') AS is_final, r.reason,
           CASE r.reason WHEN 'QUARANTINED'
               THEN format('its worker died %%s times while it ran this job, at last alone: it is not run again until an '
                           'operator retries it', e.worker_deaths + 1)
               ELSE e.noted END AS message
    FROM ended e CROSS JOIN LATERAL (
        SELECT CASE WHEN e.requested = 'unreadable' THEN 'UNREADABLE'
                    WHEN e.outcome = 'failed' AND e.requested = 'lost' AND e.worker_deaths >= e.max_worker_deaths - 1
                        THEN 'QUARANTINED'
                    WHEN e.outcome = 'failed' AND e.requested = 'fault' AND e.unknown_faults >= e.max_faults - 1
                        THEN 'UNKNOWN_FAULTS' END AS reason) AS r
), released AS (
    -- A running job holds its key, so the key identifies the row. In key order, the order of claims.
    DELETE FROM dl_job_locks WHERE lock_key = ANY (ARRAY(
        SELECT l.lock_key FROM dl_job_locks l
        WHERE l.lock_key = ANY (ARRAY(SELECT e.lock_key FROM ended e WHERE e.lock_key IS NOT NULL))
        ORDER BY l.lock_key
        FOR UPDATE))
), removed AS (
    DELETE FROM dl_jobs WHERE job_id = ANY (ARRAY(SELECT f.job_id FROM final f WHERE f.is_final))
), archived AS (
    INSERT INTO dl_jobs_done (job_id, queue, task, args, idempotency_key, lock_key, partition_key, priority, available_at,
        status, attempt, claim_no, max_attempts, lease_ttl_sec, cancel_requested, progress, checkpoint, error, result,
        producer, consumer_group, trace_context, created_at, started_at, finished_at, worker_deaths, max_worker_deaths,
        unknown_faults, reason, heartbeat_at)
    SELECT f.job_id, f.queue, f.task, f.args, f.idempotency_key, f.lock_key, f.partition_key, f.priority, f.available_at,
        f.outcome, f.attempt, f.claim_no, f.max_attempts, f.lease_ttl_sec, f.cancel_requested,
        coalesce(f.reported, f.progress), f.checkpoint,
        CASE WHEN f.outcome = 'succeeded' THEN NULL ELSE coalesce(f.message, f.error) END, f.result,
        f.producer, f.consumer_group, f.trace_context, f.created_at, f.started_at, clock_timestamp(),
        f.worker_deaths + (f.requested = 'lost')::integer, f.max_worker_deaths,
        f.unknown_faults + (f.requested = 'fault')::integer, f.reason,
        -- The completion is the last heartbeat of its worker, unless another process completes it.
        greatest(f.started_at, CASE WHEN f.requested = 'lost'
            THEN (SELECT w.renewed_at FROM dl_workers w WHERE w.worker_id = f.claimed_by) ELSE statement_timestamp() END)
    FROM final f WHERE f.is_final
), returned AS (
    UPDATE dl_jobs j
    SET status = 'queued', claimed_by = NULL,
        waits_for = CASE WHEN f.delay_s > 0 THEN 'time' END,
        available_at = CASE WHEN f.delay_s > 0 THEN clock_timestamp() + f.delay_s * interval '1 second' ELSE j.available_at END,
        attempt = CASE WHEN f.outcome IN ('snoozed', 'returned') THEN j.attempt - 1 ELSE j.attempt END,
        -- A run that ended with a transient error has shown that the job does not kill its worker.
        worker_deaths = CASE f.requested WHEN 'lost' THEN j.worker_deaths + 1 WHEN 'retry' THEN 0 ELSE j.worker_deaths END,
        unknown_faults = CASE f.requested WHEN 'fault' THEN j.unknown_faults + 1 ELSE j.unknown_faults END,
        error = coalesce(f.message, j.error), progress = coalesce(f.reported, j.progress)
    FROM final f
    WHERE NOT f.is_final AND j.job_id = f.job_id
      AND j.job_id = ANY (ARRAY(SELECT x.job_id FROM final x WHERE NOT x.is_final))
), noted AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id, payload)
    SELECT f.job_id, k.kind, f.attempt, f.claim_no, f.claimed_by,
           CASE WHEN f.message IS NOT NULL OR f.delay_s > 0
                THEN jsonb_strip_nulls(jsonb_build_object('message', f.message, 'delay_s', f.delay_s)) END
    FROM final f CROSS JOIN LATERAL (
        SELECT 'heartbeat_lost' AS kind, 0 AS place WHERE f.requested = 'lost'
        UNION ALL
        SELECT 'quarantined', 1 WHERE f.reason = 'QUARANTINED'
        UNION ALL
        SELECT CASE f.outcome WHEN 'lost' THEN 'requeued' ELSE f.outcome END, 2
        ORDER BY 2) AS k
)
SELECT f.job_id, f.claim_no, f.outcome, f.lock_key, f.task, f.queue, f.attempt, f.reason,
       -- Workers that could not claim because of a limit must be notified of the capacity.
       f.queue = ANY (ARRAY(SELECT q.queue FROM dl_queues q
                            WHERE num_nonnulls(q.max_running, q.max_running_per_partition) > 0)) AS is_limited,
       f.priority, CASE WHEN NOT f.is_final AND f.delay_s <= 0 THEN least(greatest(f.created_at, '0001-01-02'), '9998-12-31') END AS back_to,
       -- For the failure hook of the task.
       CASE WHEN f.outcome IN ('failed', 'canceled') THEN f.args::text END AS args, f.message,
       set_config('dl_jobs.notify', %(notify)s, true)
FROM final f

-- name: complete_plain_claims
-- The same for claims that complete their job and hold no lock key, at less cost: nothing is requeued, no key is
-- released. Returns one row, with the claims that were held, unless all were.
WITH ended AS MATERIALIZED (
    SELECT j.*, e.outcome AS requested, e.result, e.max_faults, e.message AS noted, e.progress AS reported,
           -- make_due during the run has changed the row's available_at, so this sees it even after waiting for the row
           -- lock.
           CASE WHEN e.outcome = 'snoozed' AND EXISTS (
                    SELECT FROM dl_job_events p
                    WHERE p.job_id = j.job_id AND p.claim_no = j.claim_no AND p.kind = 'picked' AND p.at < j.available_at)
                THEN 0 ELSE e.delay_s END AS delay_s,
           CASE WHEN e.outcome IN ('succeeded', 'failed', 'canceled') THEN e.outcome
                WHEN e.outcome = 'unreadable' THEN 'failed'
                WHEN e.outcome = 'kept' THEN 'snoozed'
                WHEN j.cancel_requested THEN 'canceled'
                WHEN e.outcome IN ('retry', 'fault', 'lost') AND j.attempt >= j.max_attempts
                    OR e.outcome = 'lost' AND j.worker_deaths >= j.max_worker_deaths - 1
                    OR e.outcome = 'fault' AND j.unknown_faults >= e.max_faults - 1 THEN 'failed'
                WHEN e.outcome = 'fault' THEN 'retry'
                ELSE e.outcome END AS outcome
    FROM unnest(%(job_ids)s::uuid[], %(claim_nos)s::integer[], %(outcomes)s::text[], %(messages)s::text[],
                %(results)s::jsonb[], %(delays_s)s::float8[], %(max_faults)s::integer[], %(progress)s::jsonb[])
        AS e(job_id, claim_no, outcome, message, result, delay_s, max_faults, progress)
    JOIN dl_jobs j ON j.job_id = e.job_id AND j.claim_no = e.claim_no
    WHERE j.claimed_by IS NOT NULL AND j.job_id = ANY (%(job_ids)s::uuid[])
    ORDER BY j.job_id
    FOR UPDATE OF j
), final AS MATERIALIZED (
    SELECT e.*, e.outcome IN ('succeeded', 'failed', 'canceled') AS is_final, r.reason,
           CASE r.reason WHEN 'QUARANTINED'
               THEN format('its worker died %%s times while it ran this job, at last alone: it is not run again until an '
                           'operator retries it', e.worker_deaths + 1)
               ELSE e.noted END AS message
    FROM ended e CROSS JOIN LATERAL (
        SELECT CASE WHEN e.requested = 'unreadable' THEN 'UNREADABLE'
                    WHEN e.outcome = 'failed' AND e.requested = 'lost' AND e.worker_deaths >= e.max_worker_deaths - 1
                        THEN 'QUARANTINED'
                    WHEN e.outcome = 'failed' AND e.requested = 'fault' AND e.unknown_faults >= e.max_faults - 1
                        THEN 'UNKNOWN_FAULTS' END AS reason) AS r
), removed AS (
    DELETE FROM dl_jobs WHERE job_id = ANY (ARRAY(SELECT f.job_id FROM final f WHERE f.is_final))
), archived AS (
    INSERT INTO dl_jobs_done (job_id, queue, task, args, idempotency_key, lock_key, partition_key, priority, available_at,
        status, attempt, claim_no, max_attempts, lease_ttl_sec, cancel_requested, progress, checkpoint, error, result,
        producer, consumer_group, trace_context, created_at, started_at, finished_at, worker_deaths, max_worker_deaths,
        unknown_faults, reason, heartbeat_at)
    SELECT f.job_id, f.queue, f.task, f.args, f.idempotency_key, f.lock_key, f.partition_key, f.priority, f.available_at,
        f.outcome, f.attempt, f.claim_no, f.max_attempts, f.lease_ttl_sec, f.cancel_requested,
        coalesce(f.reported, f.progress), f.checkpoint,
        CASE WHEN f.outcome = 'succeeded' THEN NULL ELSE coalesce(f.message, f.error) END, f.result,
        f.producer, f.consumer_group, f.trace_context, f.created_at, f.started_at, clock_timestamp(),
        f.worker_deaths + (f.requested = 'lost')::integer, f.max_worker_deaths,
        f.unknown_faults + (f.requested = 'fault')::integer, f.reason,
        -- The completion is the last heartbeat of its worker, unless another process completes it.
        greatest(f.started_at, CASE WHEN f.requested = 'lost'
            THEN (SELECT w.renewed_at FROM dl_workers w WHERE w.worker_id = f.claimed_by) ELSE statement_timestamp() END)
    FROM final f WHERE f.is_final
), noted AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id, payload)
    SELECT f.job_id, f.outcome, f.attempt, f.claim_no, f.claimed_by,
           CASE WHEN f.message IS NOT NULL THEN jsonb_build_object('message', f.message) END
    FROM final f
)
SELECT CASE WHEN count(*) < cardinality(%(job_ids)s::uuid[]) THEN array_agg(f.job_id) END AS job_ids,
       CASE WHEN count(*) < cardinality(%(job_ids)s::uuid[]) THEN array_agg(f.claim_no) END AS claim_nos,
       count(*) AS held,
       -- Workers that could not claim because of a limit must be notified of the capacity.
       ARRAY(SELECT q.queue FROM dl_queues q
             WHERE num_nonnulls(q.max_running, q.max_running_per_partition) > 0
               AND q.queue IN (SELECT l.queue FROM final l)) AS limited
FROM final f
