-- The job tables, version 1 (ADR 0014). Run inside the owning service's own migration, with its schema in search_path.

-- Time-ordered (RFC 9562, version 7) by the database's clock, so that the primary keys grow at their right end.
CREATE FUNCTION dl_new_job_id() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
        PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
        FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- One row per worker process: the lease of everything it runs, renewed in one UPDATE.
CREATE TABLE dl_workers (
    worker_id text NOT NULL,
    queues text[] NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    renewed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT dl_workers_pkey PRIMARY KEY (worker_id)
) WITH (fillfactor = 25);

-- Live jobs only: queued and running. What has ended is moved to dl_jobs_done in the transaction that ends it.
CREATE TABLE dl_jobs (
    job_id uuid NOT NULL DEFAULT dl_new_job_id(),
    queue text NOT NULL,
    task text NOT NULL,
    args jsonb NOT NULL DEFAULT '{}',
    idempotency_key text,
    lock_key text,
    partition_key text,
    priority integer NOT NULL DEFAULT 100,
    available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    status text NOT NULL DEFAULT 'queued',
    waits_for text,                              -- why a queued job is not in the claim index; null: it is
    attempt integer NOT NULL DEFAULT 0,
    claim_no integer NOT NULL DEFAULT 0,         -- grows at each claim: the fence
    claimed_by text,                             -- dl_workers.worker_id
    max_attempts integer DEFAULT 5,              -- null: no limit
    lease_ttl_sec integer NOT NULL DEFAULT 60,
    cancel_requested boolean NOT NULL DEFAULT false,
    progress jsonb,
    checkpoint jsonb,                            -- what a handler resumes from after a retry or a crash
    error text,
    producer text,
    consumer_group text,
    trace_context jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    CONSTRAINT dl_jobs_pkey PRIMARY KEY (job_id),
    CONSTRAINT dl_jobs_status_check CHECK (status IN ('queued', 'running')),
    CONSTRAINT dl_jobs_waits_for_check CHECK (waits_for IN ('time', 'key') AND status = 'queued' OR waits_for IS NULL),
    CONSTRAINT dl_jobs_claimed_by_check CHECK ((status = 'running') = (claimed_by IS NOT NULL)),
    CONSTRAINT dl_jobs_max_attempts_check CHECK (max_attempts > 0),
    CONSTRAINT dl_jobs_lease_ttl_sec_check CHECK (lease_ttl_sec > 0)
) WITH (
    fillfactor = 85, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2
);
CREATE INDEX dl_jobs_claim ON dl_jobs (queue, priority, created_at) WHERE status = 'queued' AND waits_for IS NULL;
CREATE INDEX dl_jobs_due ON dl_jobs (queue, available_at) WHERE waits_for = 'time';
CREATE INDEX dl_jobs_parked ON dl_jobs (lock_key, priority, created_at) WHERE waits_for = 'key';
CREATE INDEX dl_jobs_running ON dl_jobs (claimed_by, lease_ttl_sec) WHERE status = 'running';

-- A row while a job holds its lock_key: the primary key is the exclusion.
CREATE TABLE dl_job_locks (
    lock_key text NOT NULL,
    job_id uuid NOT NULL,
    worker_id text NOT NULL,
    acquired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT dl_job_locks_pkey PRIMARY KEY (lock_key)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Idempotency keys outlive their jobs, until they expire.
CREATE TABLE dl_job_keys (
    idempotency_key text NOT NULL,
    job_id uuid NOT NULL,
    request_hash bytea NOT NULL,                 -- eight bytes each of queue, task, args, lock_key
    expires_at timestamptz NOT NULL,
    CONSTRAINT dl_job_keys_pkey PRIMARY KEY (idempotency_key)
);
CREATE INDEX dl_job_keys_expiry ON dl_job_keys (expires_at);

-- The journal, written in the transaction of the change it records.
CREATE TABLE dl_job_events (
    event_id bigserial NOT NULL,
    job_id uuid NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text NOT NULL,
    attempt integer NOT NULL,
    claim_no integer NOT NULL,
    worker_id text,
    payload jsonb,
    CONSTRAINT dl_job_events_pkey PRIMARY KEY (job_id, event_id, at)
) PARTITION BY RANGE (at);
CREATE TABLE dl_job_events_default PARTITION OF dl_job_events DEFAULT;

CREATE TABLE dl_jobs_done (
    job_id uuid NOT NULL,
    queue text NOT NULL,
    task text NOT NULL,
    args jsonb NOT NULL,
    idempotency_key text,
    lock_key text,
    partition_key text,
    priority integer NOT NULL,
    available_at timestamptz NOT NULL,
    status text NOT NULL,
    attempt integer NOT NULL,
    claim_no integer NOT NULL,
    max_attempts integer,
    lease_ttl_sec integer NOT NULL,
    cancel_requested boolean NOT NULL,
    progress jsonb,
    checkpoint jsonb,
    error text,
    result jsonb,
    producer text,
    consumer_group text,
    trace_context jsonb,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz NOT NULL,
    CONSTRAINT dl_jobs_done_pkey PRIMARY KEY (job_id, finished_at),
    CONSTRAINT dl_jobs_done_status_check CHECK (status IN ('succeeded', 'failed', 'canceled'))
) PARTITION BY RANGE (finished_at);
CREATE INDEX dl_jobs_done_finished ON dl_jobs_done (finished_at, job_id);
CREATE TABLE dl_jobs_done_default PARTITION OF dl_jobs_done DEFAULT;

-- Every job, live and done, as operators and JobService read it. Subqueries instead of a join keep the order of the
-- primary keys, so that a page reads no more than a page.
CREATE VIEW dl_jobs_all AS
SELECT j.job_id, j.queue, j.task, j.args, j.idempotency_key, j.lock_key, j.partition_key, j.priority, j.available_at,
       j.status, j.waits_for, j.attempt, j.claim_no, j.claimed_by, j.max_attempts, j.lease_ttl_sec,
       (SELECT w.renewed_at FROM dl_workers w WHERE w.worker_id = j.claimed_by)
           + j.lease_ttl_sec * interval '1 second' AS lease_expires_at,
       (SELECT w.renewed_at FROM dl_workers w WHERE w.worker_id = j.claimed_by) AS heartbeat_at,
       j.cancel_requested, j.progress, j.checkpoint, j.error, NULL::jsonb AS result, j.producer, j.consumer_group,
       j.trace_context, j.created_at, j.started_at, NULL::timestamptz AS finished_at
FROM dl_jobs j
UNION ALL
SELECT d.job_id, d.queue, d.task, d.args, d.idempotency_key, d.lock_key, d.partition_key, d.priority, d.available_at,
       d.status, NULL, d.attempt, d.claim_no, NULL, d.max_attempts, d.lease_ttl_sec,
       NULL, NULL,
       d.cancel_requested, d.progress, d.checkpoint, d.error, d.result, d.producer, d.consumer_group,
       d.trace_context, d.created_at, d.started_at, d.finished_at
FROM dl_jobs_done d;

-- Wakes the workers of a queue when a job of it becomes ready, or gets a time to become ready that they do not know.
-- NOTIFY takes an instance-wide lock until the commit. A producer that notifies after its commit sets dl_jobs.notify to
-- off in its transaction.
CREATE FUNCTION notify_job_ready() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('dl_jobs.notify', true) IS DISTINCT FROM 'off' THEN
        PERFORM pg_notify('dl_jobs', NEW.queue);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER dl_jobs_notify_ins AFTER INSERT ON dl_jobs FOR EACH ROW
    WHEN (NEW.status = 'queued' AND NEW.waits_for IS DISTINCT FROM 'key')
    EXECUTE FUNCTION notify_job_ready();
CREATE TRIGGER dl_jobs_notify_upd AFTER UPDATE ON dl_jobs FOR EACH ROW
    WHEN (NEW.status = 'queued' AND NEW.waits_for IS DISTINCT FROM 'key'
          AND (OLD.status <> 'queued' OR OLD.waits_for = 'key'))
    EXECUTE FUNCTION notify_job_ready();
