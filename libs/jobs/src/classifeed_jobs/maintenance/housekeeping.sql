-- name: list_partitions
-- Partitions of a table with their bounds, in order, without the default partition.
SELECT p.name, p.bounds[1]::timestamptz AS lower, p.bounds[2]::timestamptz AS upper
FROM (SELECT c.relname AS name,
             regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']+)''\) TO \(''([^'']+)''\)') AS bounds
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = to_regclass(%(parent)s)) AS p
WHERE p.bounds IS NOT NULL
ORDER BY lower

-- name: place_of
-- The time, and the schema of a table, in which its partitions are created.
SELECT clock_timestamp(), n.nspname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass(%(parent)s)

-- name: delete_done
DELETE FROM dl_jobs_done_default WHERE (job_id, finished_at) IN (
    SELECT d.job_id, d.finished_at FROM dl_jobs_done_default d WHERE d.finished_at < %(before)s
    ORDER BY d.finished_at LIMIT %(limit)s)

-- name: delete_events
DELETE FROM dl_job_events_default WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM dl_job_events_default e WHERE e.at < %(before)s LIMIT %(limit)s))

-- name: dead_rows
SELECT t.relname, t.n_dead_tup FROM pg_stat_user_tables t
WHERE t.relid = ANY (ARRAY(SELECT to_regclass(name) FROM unnest(%(tables)s::text[]) AS name))

-- name: forget_workers
DELETE FROM dl_workers w
WHERE w.renewed_at < clock_timestamp() - %(after_s)s * interval '1 second'
  AND NOT EXISTS (SELECT FROM dl_jobs j WHERE j.claimed_by = w.worker_id AND j.status = 'running')

-- name: forget_keys
DELETE FROM dl_job_keys WHERE idempotency_key = ANY (ARRAY(
    SELECT k.idempotency_key FROM dl_job_keys k WHERE k.expires_at <= statement_timestamp()
    ORDER BY k.expires_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED))

-- name: depths
SELECT j.queue,
       CASE WHEN j.status = 'running' THEN 'running'
            WHEN j.waits_for = 'key' THEN 'parked'
            WHEN j.available_at > statement_timestamp() THEN 'delayed'
            ELSE 'ready' END AS state,
       count(*) AS jobs,
       extract(epoch FROM statement_timestamp() - min(greatest(j.available_at, j.created_at)))::float8 AS oldest_s
FROM dl_jobs j GROUP BY 1, 2

-- name: completed_lately
SELECT d.queue, d.status, count(*) AS jobs FROM dl_jobs_done d
WHERE d.finished_at > statement_timestamp() - interval '5 minutes'
GROUP BY d.queue, d.status

-- name: count_workers
SELECT count(*) FROM dl_workers w WHERE w.renewed_at > clock_timestamp() - interval '60 seconds'

-- name: schedule_ages
-- Seconds since the last success of each schedule whose lock key is its name, by which its completions are found.
-- Without a success, since the creation of the schedule.
SELECT s.name,
       extract(epoch FROM clock_timestamp() - greatest(
           s.created_at, (SELECT max(d.finished_at) FROM dl_jobs_done d
                           WHERE d.lock_key = s.lock_key AND d.status = 'succeeded')))::float8 AS age_s
FROM dl_schedules s WHERE s.lock_key = s.name AND s.paused_at IS NULL
