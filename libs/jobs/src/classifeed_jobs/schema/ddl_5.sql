-- The job tables, version 5 (ADR 0094): the last heartbeat of a completed job, and what a schedule does while its last job is
-- not complete. Columns with constant defaults only: nothing is rewritten.
ALTER TABLE dl_jobs_done ADD COLUMN heartbeat_at timestamptz;
ALTER TABLE dl_schedules
    ADD COLUMN overlap text NOT NULL DEFAULT 'queue_one',
    ADD CONSTRAINT dl_schedules_overlap_check CHECK (overlap IN ('skip', 'queue_one', 'queue_all', 'replace'));

-- Replaced in its own schema, which need not be the first one that is searched. A worker that has just claimed a job has not
-- renewed its lease since: the start of the job is its sign of life.
DO $$
BEGIN
    EXECUTE format('CREATE OR REPLACE VIEW %s AS ', 'dl_jobs_all'::regclass) || $view$
SELECT j.job_id, j.queue, j.task, j.args, j.idempotency_key, j.lock_key, j.partition_key, j.priority, j.available_at,
       j.status, j.waits_for, j.attempt, j.claim_no, j.claimed_by, j.max_attempts, j.lease_ttl_sec,
       (SELECT w.renewed_at FROM dl_workers w WHERE w.worker_id = j.claimed_by)
           + j.lease_ttl_sec * interval '1 second' AS lease_expires_at,
       CASE WHEN j.claimed_by IS NOT NULL
            THEN greatest(j.started_at, (SELECT w.renewed_at FROM dl_workers w WHERE w.worker_id = j.claimed_by))
            END AS heartbeat_at,
       j.cancel_requested, j.progress, j.checkpoint, j.error, NULL::jsonb AS result, j.producer, j.consumer_group,
       j.trace_context, j.created_at, j.started_at, NULL::timestamptz AS finished_at,
       j.worker_deaths, j.unknown_faults, NULL::text AS reason
FROM dl_jobs j
UNION ALL
SELECT d.job_id, d.queue, d.task, d.args, d.idempotency_key, d.lock_key, d.partition_key, d.priority, d.available_at,
       d.status, NULL, d.attempt, d.claim_no, NULL, d.max_attempts, d.lease_ttl_sec,
       NULL, d.heartbeat_at,
       d.cancel_requested, d.progress, d.checkpoint, d.error, d.result, d.producer, d.consumer_group,
       d.trace_context, d.created_at, d.started_at, d.finished_at,
       d.worker_deaths, d.unknown_faults, d.reason
FROM dl_jobs_done d
    $view$;
END
$$;
