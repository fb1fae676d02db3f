-- The job tables, version 2 (ADRs 0020 to 0022): limits, rates and pauses of queues, rotation of partition keys, schedules,
-- and what the listings and bulk retries of done jobs need. Short locks only: the live tables are small.

-- Queues that are paused or have limits. A queue without a row has no limits.
CREATE TABLE dl_queues (
    queue text NOT NULL,
    paused_at timestamptz,
    paused_by text,
    max_running integer,                         -- over all processes; null: no limit
    max_running_per_partition integer,           -- of one partition_key; null: no limit
    rate_per_s double precision,                 -- starts a second; null: no limit
    rate_burst integer,                          -- starts that may come at once after a quiet time
    tokens double precision NOT NULL DEFAULT 0,
    refilled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT dl_queues_pkey PRIMARY KEY (queue),
    CONSTRAINT dl_queues_max_running_check CHECK (max_running > 0),
    CONSTRAINT dl_queues_max_running_per_partition_check CHECK (max_running_per_partition > 0),
    CONSTRAINT dl_queues_rate_check CHECK (rate_per_s > 0 AND rate_burst > 0 OR rate_per_s IS NULL AND rate_burst IS NULL)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Jobs with partition keys are claimed in rotation, so they have a separate index.
DROP INDEX dl_jobs_claim;
CREATE INDEX dl_jobs_claim ON dl_jobs (queue, priority, created_at)
    WHERE status = 'queued' AND waits_for IS NULL AND partition_key IS NULL;
CREATE INDEX dl_jobs_lanes ON dl_jobs (queue, priority, partition_key, created_at)
    WHERE status = 'queued' AND waits_for IS NULL AND partition_key IS NOT NULL;

CREATE TABLE dl_schedules (
    name text NOT NULL,
    queue text NOT NULL,
    task text NOT NULL,
    args jsonb NOT NULL,
    lock_key text,
    partition_key text,
    priority integer NOT NULL,
    max_attempts integer,
    lease_ttl_sec integer,
    cron text,                                   -- five fields, in time_zone; null: every_sec
    every_sec integer,
    time_zone text NOT NULL,
    missed text NOT NULL,                        -- what becomes of slots that nobody was there for
    grace_sec integer NOT NULL,                  -- a slot is missed when it is older than this
    paused_at timestamptz,
    paused_by text,
    next_slot timestamptz NOT NULL,
    last_slot timestamptz,
    last_job_id uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT dl_schedules_pkey PRIMARY KEY (name),
    CONSTRAINT dl_schedules_timing_check CHECK ((cron IS NULL) <> (every_sec IS NULL) AND coalesce(every_sec, 1) > 0),
    CONSTRAINT dl_schedules_missed_check CHECK (missed IN ('skip', 'run_once', 'run_all'))
);
CREATE INDEX dl_schedules_due ON dl_schedules (next_slot) WHERE paused_at IS NULL;

-- Dead jobs are few among the done ones; jobs of one key are what an operator lists.
CREATE INDEX dl_jobs_done_dead ON dl_jobs_done (status, job_id) WHERE status <> 'succeeded';
CREATE INDEX dl_jobs_done_lock_key ON dl_jobs_done (lock_key, job_id) WHERE lock_key IS NOT NULL;
-- The journal grows in order of time: a few pages of summaries find what is old.
CREATE INDEX dl_job_events_at ON dl_job_events USING brin (at);
