-- name: pause_queue
INSERT INTO dl_queues AS q (queue, paused_at, paused_by) VALUES (%(queue)s, clock_timestamp(), %(by)s)
ON CONFLICT (queue) DO UPDATE SET paused_at = EXCLUDED.paused_at, paused_by = EXCLUDED.paused_by
    WHERE q.paused_at IS NULL

-- name: resume_queue
UPDATE dl_queues SET paused_at = NULL, paused_by = NULL WHERE queue = %(queue)s

-- name: limit_queue
INSERT INTO dl_queues AS q (queue, max_running, max_running_per_partition, rate_per_s, rate_burst, tokens)
VALUES (%(queue)s, %(max_running)s, %(max_running_per_partition)s, %(rate_per_s)s, %(rate_burst)s,
        coalesce(%(rate_burst)s, 0))
ON CONFLICT (queue) DO UPDATE
SET max_running = EXCLUDED.max_running, max_running_per_partition = EXCLUDED.max_running_per_partition,
    rate_per_s = EXCLUDED.rate_per_s, rate_burst = EXCLUDED.rate_burst,
    tokens = least(EXCLUDED.rate_burst, CASE WHEN q.rate_per_s IS NULL THEN EXCLUDED.tokens ELSE q.tokens END),
    refilled_at = clock_timestamp()

-- name: forget_free_queues
-- Each claim reads the row of its queue, so a row without settings is only a cost.
DELETE FROM dl_queues q
WHERE q.queue = %(queue)s AND q.paused_at IS NULL
  AND num_nonnulls(q.max_running, q.max_running_per_partition, q.rate_per_s) = 0

-- name: queue_stats
-- Statistics of all queues that have live jobs, recent completions, settings or a worker, by name. With `queue`, of
-- that queue only, even if it has none of these. Due jobs that no worker has promoted yet count as ready.
WITH live AS MATERIALIZED (
    SELECT j.queue,
           count(*) FILTER (WHERE j.status = 'queued' AND j.waits_for IS DISTINCT FROM 'key'
                            AND j.available_at <= statement_timestamp()) AS ready,
           count(*) FILTER (WHERE j.status = 'queued' AND j.waits_for IS DISTINCT FROM 'key'
                            AND j.available_at > statement_timestamp()) AS delayed,
           count(*) FILTER (WHERE j.waits_for = 'key') AS parked,
           count(*) FILTER (WHERE j.status = 'running') AS running,
           extract(epoch FROM statement_timestamp() - min(greatest(j.available_at, j.created_at)) FILTER (
               WHERE j.status = 'queued' AND j.available_at <= statement_timestamp()))::float8 AS oldest_s
    FROM dl_jobs j
    WHERE %(queue)s::text IS NULL OR j.queue = %(queue)s
    GROUP BY j.queue
), ended AS MATERIALIZED (
    SELECT d.queue,
           count(*) FILTER (WHERE d.status = 'succeeded') AS succeeded,
           count(*) FILTER (WHERE d.status = 'failed') AS failed,
           count(*) FILTER (WHERE d.status = 'canceled') AS canceled
    FROM dl_jobs_done d
    WHERE d.finished_at > statement_timestamp() - %(window_s)s * interval '1 second'
      AND (%(queue)s::text IS NULL OR d.queue = %(queue)s)
    GROUP BY d.queue
), failed AS MATERIALIZED (
    SELECT d.queue, count(*) AS jobs FROM dl_jobs_done d
    WHERE d.status = 'failed' AND d.finished_at > statement_timestamp() - interval '1 hour'
      AND (%(queue)s::text IS NULL OR d.queue = %(queue)s)
    GROUP BY d.queue
), served AS MATERIALIZED (
    SELECT w.queue, count(*) AS workers
    FROM (SELECT unnest(x.queues) AS queue FROM dl_workers x
          WHERE x.renewed_at > statement_timestamp() - interval '60 seconds') AS w
    WHERE %(queue)s::text IS NULL OR w.queue = %(queue)s
    GROUP BY w.queue
)
SELECT n.queue, coalesce(l.ready, 0) AS ready, coalesce(l.delayed, 0) AS delayed, coalesce(l.parked, 0) AS parked,
       coalesce(l.running, 0) AS running, l.oldest_s,
       coalesce(e.succeeded, 0) / %(window_s)s::float8 AS succeeded_per_s,
       coalesce(e.failed, 0) / %(window_s)s::float8 AS failed_per_s,
       coalesce(e.canceled, 0) / %(window_s)s::float8 AS canceled_per_s,
       coalesce(f.jobs, 0) AS failed_last_hour, coalesce(s.workers, 0) AS workers, q.paused_at, q.paused_by, q.max_running, q.max_running_per_partition, q.rate_per_s, q.rate_burst
FROM (SELECT queue FROM live UNION SELECT queue FROM ended UNION SELECT queue FROM failed UNION SELECT queue FROM served
      UNION SELECT d.queue FROM dl_queues d WHERE %(queue)s::text IS NULL
      UNION SELECT %(queue)s WHERE %(queue)s::text IS NOT NULL) AS n
LEFT JOIN live l ON l.queue = n.queue
LEFT JOIN ended e ON e.queue = n.queue
LEFT JOIN failed f ON f.queue = n.queue
LEFT JOIN served s ON s.queue = n.queue
LEFT JOIN dl_queues q ON q.queue = n.queue
ORDER BY n.queue
