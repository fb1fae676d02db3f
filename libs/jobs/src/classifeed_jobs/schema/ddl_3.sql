-- The job tables, version 3 (ADR 0032): how often a job's worker died at it, how often it failed by an exception that
-- nobody foresaw, and why the engine ended it. Columns with constant defaults only: nothing is rewritten.
ALTER TABLE dl_jobs
    ADD COLUMN worker_deaths integer NOT NULL DEFAULT 0,      -- since it last came further
    ADD COLUMN max_worker_deaths integer DEFAULT 3,           -- then it is quarantined; null: never
    ADD COLUMN unknown_faults integer NOT NULL DEFAULT 0,     -- since it last came further
    ADD CONSTRAINT dl_jobs_max_worker_deaths_check CHECK (max_worker_deaths > 0);
ALTER TABLE dl_jobs_done
    ADD COLUMN worker_deaths integer NOT NULL DEFAULT 0,
    ADD COLUMN max_worker_deaths integer DEFAULT 3,
    ADD COLUMN unknown_faults integer NOT NULL DEFAULT 0,
    ADD COLUMN reason text;                                   -- QUARANTINED, UNKNOWN_FAULTS; null: nothing but its status

-- Tasks that have an on_failed hook, as this process knows them: one that does not must not end their jobs.
ALTER TABLE dl_workers ADD COLUMN hook_tasks text[] NOT NULL DEFAULT '{}';

-- Replaced where it lies, which need not be the first schema that is searched.
DO $$
BEGIN
    EXECUTE format('CREATE OR REPLACE VIEW %s AS ', 'dl_jobs_all'::regclass) || $view$
SELECT j.job_id, j.queue, j.task, j.args, j.idempotency_key, j.lock_key, j.partition_key, j.priority, j.available_at,
       j.status, j.waits_for, j.attempt, j.claim_no, j.claimed_by, j.max_attempts, j.lease_ttl_sec,
       (SELECT w.renewed_at FROM dl_workers w WHERE w.worker_id = j.claimed_by)
           + j.lease_ttl_sec * interval '1 second' AS lease_expires_at,
       (SELECT w.renewed_at FROM dl_workers w WHERE w.worker_id = j.claimed_by) AS heartbeat_at,
       j.cancel_requested, j.progress, j.checkpoint, j.error, NULL::jsonb AS result, j.producer, j.consumer_group,
       j.trace_context, j.created_at, j.started_at, NULL::timestamptz AS finished_at,
       j.worker_deaths, j.unknown_faults, NULL::text AS reason
FROM dl_jobs j
UNION ALL
SELECT d.job_id, d.queue, d.task, d.args, d.idempotency_key, d.lock_key, d.partition_key, d.priority, d.available_at,
       d.status, NULL, d.attempt, d.claim_no, NULL, d.max_attempts, d.lease_ttl_sec,
       NULL, NULL,
       d.cancel_requested, d.progress, d.checkpoint, d.error, d.result, d.producer, d.consumer_group,
       d.trace_context, d.created_at, d.started_at, d.finished_at,
       d.worker_deaths, d.unknown_faults, d.reason
FROM dl_jobs_done d
    $view$;
END
$$;
