-- name: promote_due
-- Rows are selected by primary key only: with a condition on waits_for, the planner might scan all delayed jobs.
UPDATE dl_jobs SET waits_for = NULL
WHERE job_id = ANY (ARRAY(
    SELECT j.job_id FROM unnest(%(queues)s::text[]) AS q(queue) CROSS JOIN LATERAL (
        SELECT d.job_id FROM dl_jobs d
        WHERE d.queue = q.queue AND d.waits_for = 'time'
          AND d.available_at >= %(since)s::timestamptz AND d.available_at <= statement_timestamp()
        ORDER BY d.available_at LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED) AS j))
RETURNING queue, priority, least(greatest(created_at, '0001-01-02'), '9998-12-31')

-- name: next_due
-- Seconds until the next job is due, the duration of the scan, and the start of the next scan (DelayedJobs). The margin
-- is for transactions that enqueue now and commit a little later.
SELECT extract(epoch FROM min(n.available_at) - clock_timestamp())::float8 AS in_s,
       extract(epoch FROM clock_timestamp() - statement_timestamp())::float8 AS scanned_s,
       least(min(n.available_at), statement_timestamp() - interval '250 milliseconds')::text AS since
FROM unnest(%(queues)s::text[]) AS q(queue) CROSS JOIN LATERAL (
    SELECT d.available_at FROM dl_jobs d
    WHERE d.queue = q.queue AND d.waits_for = 'time' AND d.available_at >= %(since)s::timestamptz
      AND d.available_at < 'infinity'
    ORDER BY d.available_at LIMIT 1) AS n
