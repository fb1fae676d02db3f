-- Made from fetch.parts by `make stubs`; do not edit.

-- name: claim_plain_jobs
-- The same for the simplest case, at half the cost of a small claim: the first jobs of the queue are due and have no
-- keys of any kind. If one of them is not due or has a key, no job is claimed.
WITH me AS MATERIALIZED (
    -- The lock prevents the removal of the lease row: a claim without one would never be reaped.
    -- The age check rejects a stale lease: a claim by a process that was just suspended would be lost immediately.
    SELECT w.worker_id FROM dl_workers w
    WHERE w.worker_id = %(worker)s AND w.renewed_at > clock_timestamp() - %(fresh_s)s * interval '1 second'
    FOR KEY SHARE
), gate AS MATERIALIZED (
    -- Shut while the queue is paused. A queue with limits is open only for the process that locks its row
    -- (claim_within_limits).
    SELECT EXISTS (
        SELECT FROM dl_queues q
        WHERE q.queue = %(queue)s
          AND (q.paused_at IS NOT NULL
               OR num_nonnulls(q.max_running, q.max_running_per_partition, q.rate_per_s) > 0 AND NOT %(is_permitted)s)
    ) AS is_shut
), partitions AS MATERIALIZED (
    SELECT EXISTS (
        SELECT FROM dl_jobs j
        WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NOT NULL) AS exist
), candidate AS MATERIALIZED (
    SELECT j.job_id, j.lock_key, j.partition_key, j.priority, j.created_at, j.available_at <= clock_timestamp() AS due,
           0 AS turn, 0 AS place, clock_timestamp() AS met_at
    FROM dl_jobs j
    WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NULL
      AND EXISTS (SELECT FROM me) AND NOT (SELECT g.is_shut FROM gate g) AND NOT (SELECT l.exist FROM partitions l)
    ORDER BY j.priority, j.created_at
    LIMIT %(look)s
    FOR UPDATE OF j SKIP LOCKED
), irregular AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM candidate c WHERE c.lock_key IS NOT NULL OR NOT c.due) AS is_met
), claimed AS (
    UPDATE dl_jobs j
    SET status = 'running', attempt = j.attempt + 1, claim_no = j.claim_no + 1, claimed_by = %(worker)s,
        started_at = coalesce(j.started_at, clock_timestamp())
    WHERE j.job_id = ANY (ARRAY(SELECT c.job_id FROM candidate c WHERE NOT (SELECT o.is_met FROM irregular o)))
    RETURNING j.job_id, j.claim_no, j.task, j.args, j.lock_key, j.partition_key, j.attempt, j.max_attempts,
              j.lease_ttl_sec, j.checkpoint, j.trace_context, j.priority, j.created_at,
              -- The next death of its worker would be the last allowed, so no other job should be affected (Isolation).
              coalesce(j.worker_deaths > 0 AND j.worker_deaths >= j.max_worker_deaths - 1, false) AS runs_alone,
              extract(epoch FROM clock_timestamp() - greatest(j.available_at, j.created_at))::float8 AS waited_s
), picked AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id)
    SELECT c.job_id, 'picked', c.attempt, c.claim_no, %(worker)s FROM claimed c
), found AS MATERIALIZED (
    SELECT (SELECT greatest(0, extract(epoch FROM CASE WHEN count(*) >= %(look)s THEN max(c.met_at) ELSE clock_timestamp() END
                            - statement_timestamp() - count(*) * interval '10 microseconds'))::float8
 FROM candidate c) AS scanned_s, EXISTS (SELECT FROM me) AS registered,
           (SELECT g.is_shut FROM gate g) AS is_shut,
           (SELECT l.exist FROM partitions l) AS has_partitions,
           (SELECT o.is_met FROM irregular o) AS needs_full_claim,
                  NULL::integer[] AS priorities, NULL::timestamptz[] AS sinces, NULL::timestamptz AS late
)
SELECT f.*, c.job_id, c.claim_no, c.task, c.args, c.lock_key, c.partition_key, c.attempt, c.max_attempts, c.lease_ttl_sec,
       c.checkpoint, c.trace_context, c.waited_s, c.runs_alone
FROM found f LEFT JOIN claimed c ON true
ORDER BY c.priority, c.created_at

-- name: claim_plain_jobs_from_cursor
-- The same for the simplest case, at half the cost of a small claim: the first jobs of the queue are due and have no
-- keys of any kind. If one of them is not due or has a key, no job is claimed.
WITH me AS MATERIALIZED (
    -- The lock prevents the removal of the lease row: a claim without one would never be reaped.
    -- The age check rejects a stale lease: a claim by a process that was just suspended would be lost immediately.
    SELECT w.worker_id FROM dl_workers w
    WHERE w.worker_id = %(worker)s AND w.renewed_at > clock_timestamp() - %(fresh_s)s * interval '1 second'
    FOR KEY SHARE
), gate AS MATERIALIZED (
    -- Shut while the queue is paused. A queue with limits is open only for the process that locks its row
    -- (claim_within_limits).
    SELECT EXISTS (
        SELECT FROM dl_queues q
        WHERE q.queue = %(queue)s
          AND (q.paused_at IS NOT NULL
               OR num_nonnulls(q.max_running, q.max_running_per_partition, q.rate_per_s) > 0 AND NOT %(is_permitted)s)
    ) AS is_shut
), partitions AS MATERIALIZED (
    SELECT %(is_full_scan)s AND EXISTS (
        SELECT FROM dl_jobs j
        WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NOT NULL) AS exist
), candidate AS MATERIALIZED (
    SELECT f.*
    FROM unnest(%(lows)s::integer[], %(sinces)s::timestamptz[], %(belows)s::bigint[], %(untils)s::timestamptz[])
        AS r(low, since, below, until)
    CROSS JOIN LATERAL (
    SELECT j.job_id, j.lock_key, j.partition_key, j.priority, j.created_at, j.available_at <= clock_timestamp() AS due,
           0 AS turn, 0 AS place, clock_timestamp() AS met_at
    FROM dl_jobs j
    WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NULL
      AND EXISTS (SELECT FROM me) AND NOT (SELECT g.is_shut FROM gate g) AND NOT (SELECT l.exist FROM partitions l)
      AND (j.priority, j.created_at) >= (r.low, r.since) AND (j.priority, j.created_at) < (r.below, r.until)
    ORDER BY j.priority, j.created_at
    LIMIT %(look)s
    FOR UPDATE OF j SKIP LOCKED) AS f
    LIMIT %(look)s
), irregular AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM candidate c WHERE c.lock_key IS NOT NULL OR NOT c.due) AS is_met
), claimed AS (
    UPDATE dl_jobs j
    SET status = 'running', attempt = j.attempt + 1, claim_no = j.claim_no + 1, claimed_by = %(worker)s,
        started_at = coalesce(j.started_at, clock_timestamp())
    WHERE j.job_id = ANY (ARRAY(SELECT c.job_id FROM candidate c WHERE NOT (SELECT o.is_met FROM irregular o)))
    RETURNING j.job_id, j.claim_no, j.task, j.args, j.lock_key, j.partition_key, j.attempt, j.max_attempts,
              j.lease_ttl_sec, j.checkpoint, j.trace_context, j.priority, j.created_at,
              -- The next death of its worker would be the last allowed, so no other job should be affected (Isolation).
              coalesce(j.worker_deaths > 0 AND j.worker_deaths >= j.max_worker_deaths - 1, false) AS runs_alone,
              extract(epoch FROM clock_timestamp() - greatest(j.available_at, j.created_at))::float8 AS waited_s
), picked AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id)
    SELECT c.job_id, 'picked', c.attempt, c.claim_no, %(worker)s FROM claimed c
), reached AS MATERIALIZED (
    SELECT c.priority, least(min(c.created_at) FILTER (WHERE c.job_id NOT IN (SELECT m.job_id FROM claimed m)), max(c.created_at),
                             statement_timestamp() - interval '250 milliseconds') AS since
    FROM candidate c GROUP BY c.priority
), found AS MATERIALIZED (
    SELECT (SELECT greatest(0, extract(epoch FROM CASE WHEN count(*) >= %(look)s THEN max(c.met_at) ELSE clock_timestamp() END
                            - statement_timestamp() - count(*) * interval '10 microseconds'))::float8
 FROM candidate c) AS scanned_s, EXISTS (SELECT FROM me) AS registered,
           (SELECT g.is_shut FROM gate g) AS is_shut,
           (SELECT l.exist FROM partitions l) AS has_partitions,
           (SELECT o.is_met FROM irregular o) AS needs_full_claim,
                  ARRAY(SELECT r.priority FROM reached r ORDER BY r.priority) AS priorities,
       ARRAY(SELECT r.since FROM reached r ORDER BY r.priority) AS sinces, statement_timestamp() - interval '250 milliseconds' AS late
)
SELECT f.*, c.job_id, c.claim_no, c.task, c.args, c.lock_key, c.partition_key, c.attempt, c.max_attempts, c.lease_ttl_sec,
       c.checkpoint, c.trace_context, c.waited_s, c.runs_alone
FROM found f LEFT JOIN claimed c ON true
ORDER BY c.priority, c.created_at

-- name: claim_jobs
-- Claims up to `wanted` due jobs of a queue, never two with one lock_key. Scanned jobs whose key is held leave the
-- claim index (waits_for = 'key') and return when the key is released (promote_next). {candidate} is one of the parts
-- below, {scan} reports what it saw; {head} and {claimed} are shared with claim_plain_jobs.
-- A job cannot stay blocked after its key was released: the claim that blocks it locks the key's row FOR KEY SHARE
-- until it commits, and the completion deletes that row before it looks for blocked jobs.
WITH RECURSIVE me AS MATERIALIZED (
    -- The lock prevents the removal of the lease row: a claim without one would never be reaped.
    -- The age check rejects a stale lease: a claim by a process that was just suspended would be lost immediately.
    SELECT w.worker_id FROM dl_workers w
    WHERE w.worker_id = %(worker)s AND w.renewed_at > clock_timestamp() - %(fresh_s)s * interval '1 second'
    FOR KEY SHARE
), gate AS MATERIALIZED (
    -- Shut while the queue is paused. A queue with limits is open only for the process that locks its row
    -- (claim_within_limits).
    SELECT EXISTS (
        SELECT FROM dl_queues q
        WHERE q.queue = %(queue)s
          AND (q.paused_at IS NOT NULL
               OR num_nonnulls(q.max_running, q.max_running_per_partition, q.rate_per_s) > 0 AND NOT %(is_permitted)s)
    ) AS is_shut
), partitions AS MATERIALIZED (
    SELECT EXISTS (
        SELECT FROM dl_jobs j
        WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NOT NULL) AS exist
), candidate AS MATERIALIZED (
    SELECT j.job_id, j.lock_key, j.partition_key, j.priority, j.created_at, j.available_at <= clock_timestamp() AS due,
           0 AS turn, 0 AS place, clock_timestamp() AS met_at
    FROM dl_jobs j
    WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NULL
      AND EXISTS (SELECT FROM me) AND NOT (SELECT g.is_shut FROM gate g) AND NOT (SELECT l.exist FROM partitions l)
    ORDER BY j.priority, j.created_at
    LIMIT %(look)s
    FOR UPDATE OF j SKIP LOCKED
), scan AS MATERIALIZED (
    SELECT (SELECT l.exist FROM partitions l) AS has_partitions, NULL::integer AS level,
           (SELECT count(*) FROM candidate) >= %(look)s AS has_more, NULL::text AS last_partition, 0 AS passed_over,
           false AS is_held_back
), seen_lock AS MATERIALIZED (
    SELECT l.lock_key FROM dl_job_locks l
    WHERE l.lock_key = ANY (ARRAY(SELECT c.lock_key FROM candidate c WHERE c.lock_key IS NOT NULL))
), held AS MATERIALIZED (
    SELECT l.lock_key FROM dl_job_locks l
    WHERE l.lock_key = ANY (ARRAY(SELECT s.lock_key FROM seen_lock s))
    FOR KEY SHARE SKIP LOCKED
), first_of_key AS (
    SELECT c.*, row_number() OVER (
        PARTITION BY c.lock_key, CASE WHEN c.lock_key IS NULL THEN c.job_id END
        ORDER BY c.priority, c.turn, c.place, c.created_at, c.job_id) AS nth
    FROM candidate c
    WHERE c.due AND NOT EXISTS (SELECT FROM seen_lock s WHERE s.lock_key = c.lock_key)
), chosen AS MATERIALIZED (
    SELECT f.job_id, f.lock_key, f.partition_key, f.turn, f.place FROM first_of_key f
    WHERE f.nth = 1
    ORDER BY f.priority, f.turn, f.place, f.created_at, f.job_id
    LIMIT %(wanted)s
), taken AS (
    -- In key order, so that concurrent claims cannot deadlock.
    INSERT INTO dl_job_locks (lock_key, job_id, worker_id)
    SELECT c.lock_key, c.job_id, %(worker)s FROM chosen c WHERE c.lock_key IS NOT NULL ORDER BY c.lock_key
    ON CONFLICT DO NOTHING
    RETURNING lock_key, job_id
), deferral AS MATERIALIZED (
    SELECT c.job_id, 'time' AS waits_for FROM candidate c WHERE NOT c.due
    UNION ALL
    SELECT c.job_id, 'key' FROM candidate c
    WHERE c.due
      AND (c.lock_key IN (SELECT h.lock_key FROM held h)
           OR c.lock_key IN (SELECT t.lock_key FROM taken t) AND c.job_id NOT IN (SELECT t.job_id FROM taken t))
), deferred AS (
    UPDATE dl_jobs j SET waits_for = d.waits_for
    FROM deferral d
    WHERE j.job_id = d.job_id AND j.job_id = ANY (ARRAY(SELECT d2.job_id FROM deferral d2))
), claimed AS (
    UPDATE dl_jobs j
    SET status = 'running', attempt = j.attempt + 1, claim_no = j.claim_no + 1, claimed_by = %(worker)s,
        started_at = coalesce(j.started_at, clock_timestamp())
    WHERE j.job_id = ANY (ARRAY(SELECT c.job_id FROM chosen c WHERE c.lock_key IS NULL UNION ALL SELECT t.job_id FROM taken t))
    RETURNING j.job_id, j.claim_no, j.task, j.args, j.lock_key, j.partition_key, j.attempt, j.max_attempts,
              j.lease_ttl_sec, j.checkpoint, j.trace_context, j.priority, j.created_at,
              -- The next death of its worker would be the last allowed, so no other job should be affected (Isolation).
              coalesce(j.worker_deaths > 0 AND j.worker_deaths >= j.max_worker_deaths - 1, false) AS runs_alone,
              extract(epoch FROM clock_timestamp() - greatest(j.available_at, j.created_at))::float8 AS waited_s
), picked AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id)
    SELECT c.job_id, 'picked', c.attempt, c.claim_no, %(worker)s FROM claimed c
), found AS MATERIALIZED (
    SELECT (SELECT greatest(0, extract(epoch FROM CASE WHEN count(*) >= %(look)s THEN max(c.met_at) ELSE clock_timestamp() END
                            - statement_timestamp() - count(*) * interval '10 microseconds'))::float8
 FROM candidate c) AS scanned_s, (SELECT count(*) FROM me) AS registered,
           (SELECT g.is_shut FROM gate g) AS is_shut,
           (SELECT s.has_partitions FROM scan s) AS has_partitions,
           (SELECT s.level FROM scan s) AS level,
           (SELECT s.has_more FROM scan s) AS has_more,
           coalesce((SELECT c.partition_key FROM chosen c WHERE c.partition_key IS NOT NULL ORDER BY c.turn DESC, c.place DESC LIMIT 1),
                    (SELECT s.last_partition FROM scan s)) AS last_partition,
           (SELECT coalesce(array_agg(DISTINCT c.lock_key), '{}') FROM candidate c
            WHERE c.job_id IN (SELECT d.job_id FROM deferral d WHERE d.waits_for = 'key')) AS blocked_keys,
           (SELECT count(*) FROM candidate c
            WHERE c.due AND c.lock_key IS NOT NULL
              AND c.lock_key NOT IN (SELECT t.lock_key FROM taken t) AND c.lock_key NOT IN (SELECT h.lock_key FROM held h)
              AND (c.lock_key IN (SELECT s.lock_key FROM seen_lock s) OR c.job_id IN (SELECT x.job_id FROM chosen x))
           ) + (SELECT s.passed_over FROM scan s) AS contended,
           (SELECT count(*) FROM deferral) AS deferred,
           (SELECT s.is_held_back FROM scan s) AS is_held_back,
           EXISTS (SELECT FROM candidate c WHERE c.lock_key IS NOT NULL OR NOT c.due) AS needs_full_claim,
                  NULL::integer[] AS priorities, NULL::timestamptz[] AS sinces, NULL::timestamptz AS late
)
SELECT f.*, c.job_id, c.claim_no, c.task, c.args, c.lock_key, c.partition_key, c.attempt, c.max_attempts, c.lease_ttl_sec,
       c.checkpoint, c.trace_context, c.waited_s, c.runs_alone
FROM found f LEFT JOIN claimed c ON true
ORDER BY c.priority, c.created_at

-- name: claim_jobs_from_cursor
-- Claims up to `wanted` due jobs of a queue, never two with one lock_key. Scanned jobs whose key is held leave the
-- claim index (waits_for = 'key') and return when the key is released (promote_next). {candidate} is one of the parts
-- below, {scan} reports what it saw; {head} and {claimed} are shared with claim_plain_jobs.
-- A job cannot stay blocked after its key was released: the claim that blocks it locks the key's row FOR KEY SHARE
-- until it commits, and the completion deletes that row before it looks for blocked jobs.
WITH RECURSIVE me AS MATERIALIZED (
    -- The lock prevents the removal of the lease row: a claim without one would never be reaped.
    -- The age check rejects a stale lease: a claim by a process that was just suspended would be lost immediately.
    SELECT w.worker_id FROM dl_workers w
    WHERE w.worker_id = %(worker)s AND w.renewed_at > clock_timestamp() - %(fresh_s)s * interval '1 second'
    FOR KEY SHARE
), gate AS MATERIALIZED (
    -- Shut while the queue is paused. A queue with limits is open only for the process that locks its row
    -- (claim_within_limits).
    SELECT EXISTS (
        SELECT FROM dl_queues q
        WHERE q.queue = %(queue)s
          AND (q.paused_at IS NOT NULL
               OR num_nonnulls(q.max_running, q.max_running_per_partition, q.rate_per_s) > 0 AND NOT %(is_permitted)s)
    ) AS is_shut
), partitions AS MATERIALIZED (
    SELECT %(is_full_scan)s AND EXISTS (
        SELECT FROM dl_jobs j
        WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NOT NULL) AS exist
), candidate AS MATERIALIZED (
    SELECT f.*
    FROM unnest(%(lows)s::integer[], %(sinces)s::timestamptz[], %(belows)s::bigint[], %(untils)s::timestamptz[])
        AS r(low, since, below, until)
    CROSS JOIN LATERAL (
    SELECT j.job_id, j.lock_key, j.partition_key, j.priority, j.created_at, j.available_at <= clock_timestamp() AS due,
           0 AS turn, 0 AS place, clock_timestamp() AS met_at
    FROM dl_jobs j
    WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NULL
      AND EXISTS (SELECT FROM me) AND NOT (SELECT g.is_shut FROM gate g) AND NOT (SELECT l.exist FROM partitions l)
      AND (j.priority, j.created_at) >= (r.low, r.since) AND (j.priority, j.created_at) < (r.below, r.until)
    ORDER BY j.priority, j.created_at
    LIMIT %(look)s
    FOR UPDATE OF j SKIP LOCKED) AS f
    LIMIT %(look)s
), scan AS MATERIALIZED (
    SELECT (SELECT l.exist FROM partitions l) AS has_partitions, NULL::integer AS level,
           (SELECT count(*) FROM candidate) >= %(look)s AS has_more, NULL::text AS last_partition, 0 AS passed_over,
           false AS is_held_back
), seen_lock AS MATERIALIZED (
    SELECT l.lock_key FROM dl_job_locks l
    WHERE l.lock_key = ANY (ARRAY(SELECT c.lock_key FROM candidate c WHERE c.lock_key IS NOT NULL))
), held AS MATERIALIZED (
    SELECT l.lock_key FROM dl_job_locks l
    WHERE l.lock_key = ANY (ARRAY(SELECT s.lock_key FROM seen_lock s))
    FOR KEY SHARE SKIP LOCKED
), first_of_key AS (
    SELECT c.*, row_number() OVER (
        PARTITION BY c.lock_key, CASE WHEN c.lock_key IS NULL THEN c.job_id END
        ORDER BY c.priority, c.turn, c.place, c.created_at, c.job_id) AS nth
    FROM candidate c
    WHERE c.due AND NOT EXISTS (SELECT FROM seen_lock s WHERE s.lock_key = c.lock_key)
), chosen AS MATERIALIZED (
    SELECT f.job_id, f.lock_key, f.partition_key, f.turn, f.place FROM first_of_key f
    WHERE f.nth = 1
    ORDER BY f.priority, f.turn, f.place, f.created_at, f.job_id
    LIMIT %(wanted)s
), taken AS (
    -- In key order, so that concurrent claims cannot deadlock.
    INSERT INTO dl_job_locks (lock_key, job_id, worker_id)
    SELECT c.lock_key, c.job_id, %(worker)s FROM chosen c WHERE c.lock_key IS NOT NULL ORDER BY c.lock_key
    ON CONFLICT DO NOTHING
    RETURNING lock_key, job_id
), deferral AS MATERIALIZED (
    SELECT c.job_id, 'time' AS waits_for FROM candidate c WHERE NOT c.due
    UNION ALL
    SELECT c.job_id, 'key' FROM candidate c
    WHERE c.due
      AND (c.lock_key IN (SELECT h.lock_key FROM held h)
           OR c.lock_key IN (SELECT t.lock_key FROM taken t) AND c.job_id NOT IN (SELECT t.job_id FROM taken t))
), deferred AS (
    UPDATE dl_jobs j SET waits_for = d.waits_for
    FROM deferral d
    WHERE j.job_id = d.job_id AND j.job_id = ANY (ARRAY(SELECT d2.job_id FROM deferral d2))
), claimed AS (
    UPDATE dl_jobs j
    SET status = 'running', attempt = j.attempt + 1, claim_no = j.claim_no + 1, claimed_by = %(worker)s,
        started_at = coalesce(j.started_at, clock_timestamp())
    WHERE j.job_id = ANY (ARRAY(SELECT c.job_id FROM chosen c WHERE c.lock_key IS NULL UNION ALL SELECT t.job_id FROM taken t))
    RETURNING j.job_id, j.claim_no, j.task, j.args, j.lock_key, j.partition_key, j.attempt, j.max_attempts,
              j.lease_ttl_sec, j.checkpoint, j.trace_context, j.priority, j.created_at,
              -- The next death of its worker would be the last allowed, so no other job should be affected (Isolation).
              coalesce(j.worker_deaths > 0 AND j.worker_deaths >= j.max_worker_deaths - 1, false) AS runs_alone,
              extract(epoch FROM clock_timestamp() - greatest(j.available_at, j.created_at))::float8 AS waited_s
), picked AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id)
    SELECT c.job_id, 'picked', c.attempt, c.claim_no, %(worker)s FROM claimed c
), reached AS MATERIALIZED (
    SELECT c.priority, least(min(c.created_at) FILTER (WHERE c.job_id NOT IN (SELECT m.job_id FROM claimed m UNION ALL SELECT d.job_id FROM deferral d)), max(c.created_at),
                             statement_timestamp() - interval '250 milliseconds') AS since
    FROM candidate c GROUP BY c.priority
), found AS MATERIALIZED (
    SELECT (SELECT greatest(0, extract(epoch FROM CASE WHEN count(*) >= %(look)s THEN max(c.met_at) ELSE clock_timestamp() END
                            - statement_timestamp() - count(*) * interval '10 microseconds'))::float8
 FROM candidate c) AS scanned_s, (SELECT count(*) FROM me) AS registered,
           (SELECT g.is_shut FROM gate g) AS is_shut,
           (SELECT s.has_partitions FROM scan s) AS has_partitions,
           (SELECT s.level FROM scan s) AS level,
           (SELECT s.has_more FROM scan s) AS has_more,
           coalesce((SELECT c.partition_key FROM chosen c WHERE c.partition_key IS NOT NULL ORDER BY c.turn DESC, c.place DESC LIMIT 1),
                    (SELECT s.last_partition FROM scan s)) AS last_partition,
           (SELECT coalesce(array_agg(DISTINCT c.lock_key), '{}') FROM candidate c
            WHERE c.job_id IN (SELECT d.job_id FROM deferral d WHERE d.waits_for = 'key')) AS blocked_keys,
           (SELECT count(*) FROM candidate c
            WHERE c.due AND c.lock_key IS NOT NULL
              AND c.lock_key NOT IN (SELECT t.lock_key FROM taken t) AND c.lock_key NOT IN (SELECT h.lock_key FROM held h)
              AND (c.lock_key IN (SELECT s.lock_key FROM seen_lock s) OR c.job_id IN (SELECT x.job_id FROM chosen x))
           ) + (SELECT s.passed_over FROM scan s) AS contended,
           (SELECT count(*) FROM deferral) AS deferred,
           (SELECT s.is_held_back FROM scan s) AS is_held_back,
           EXISTS (SELECT FROM candidate c WHERE c.lock_key IS NOT NULL OR NOT c.due) AS needs_full_claim,
                  ARRAY(SELECT r.priority FROM reached r ORDER BY r.priority) AS priorities,
       ARRAY(SELECT r.since FROM reached r ORDER BY r.priority) AS sinces, statement_timestamp() - interval '250 milliseconds' AS late
)
SELECT f.*, c.job_id, c.claim_no, c.task, c.args, c.lock_key, c.partition_key, c.attempt, c.max_attempts, c.lease_ttl_sec,
       c.checkpoint, c.trace_context, c.waited_s, c.runs_alone
FROM found f LEFT JOIN claimed c ON true
ORDER BY c.priority, c.created_at

-- name: claim_jobs_fairly
-- Claims up to `wanted` due jobs of a queue, never two with one lock_key. Scanned jobs whose key is held leave the
-- claim index (waits_for = 'key') and return when the key is released (promote_next). {candidate} is one of the parts
-- below, {scan} reports what it saw; {head} and {claimed} are shared with claim_plain_jobs.
-- A job cannot stay blocked after its key was released: the claim that blocks it locks the key's row FOR KEY SHARE
-- until it commits, and the completion deletes that row before it looks for blocked jobs.
WITH RECURSIVE me AS MATERIALIZED (
    -- The lock prevents the removal of the lease row: a claim without one would never be reaped.
    -- The age check rejects a stale lease: a claim by a process that was just suspended would be lost immediately.
    SELECT w.worker_id FROM dl_workers w
    WHERE w.worker_id = %(worker)s AND w.renewed_at > clock_timestamp() - %(fresh_s)s * interval '1 second'
    FOR KEY SHARE
), gate AS MATERIALIZED (
    -- Shut while the queue is paused. A queue with limits is open only for the process that locks its row
    -- (claim_within_limits).
    SELECT EXISTS (
        SELECT FROM dl_queues q
        WHERE q.queue = %(queue)s
          AND (q.paused_at IS NOT NULL
               OR num_nonnulls(q.max_running, q.max_running_per_partition, q.rate_per_s) > 0 AND NOT %(is_permitted)s)
    ) AS is_shut
), level AS MATERIALIZED (
    SELECT least(
        (SELECT j.priority FROM dl_jobs j
         WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NULL
           AND j.priority > %(above)s::bigint
         ORDER BY j.priority LIMIT 1),
        (SELECT j.priority FROM dl_jobs j
         WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NOT NULL
           AND j.priority > %(above)s::bigint
         ORDER BY j.priority LIMIT 1)) AS priority
    FROM me WHERE NOT (SELECT g.is_shut FROM gate g)
), busy AS MATERIALIZED (
    SELECT r.partition_key, count(*) AS running FROM dl_jobs r
    WHERE %(per_partition)s::integer IS NOT NULL AND r.claimed_by IS NOT NULL AND r.status = 'running' AND r.queue = %(queue)s
    GROUP BY r.partition_key
), holder AS MATERIALIZED (
    SELECT h.partition_key, h.held FROM unnest(%(held_keys)s::text[], %(held)s::integer[]) AS h(partition_key, held)
), partition AS (
    -- A loose index scan: one probe per key, for as many keys as are needed.
    SELECT coalesce(
        (SELECT j.partition_key FROM dl_jobs j
         WHERE j.queue = %(queue)s AND j.priority = v.priority AND j.status = 'queued' AND j.waits_for IS NULL
           AND j.partition_key > %(after_partition)s
         ORDER BY j.partition_key LIMIT 1),
        (SELECT j.partition_key FROM dl_jobs j
         WHERE j.queue = %(queue)s AND j.priority = v.priority AND j.status = 'queued' AND j.waits_for IS NULL
           AND j.partition_key <= %(after_partition)s
         ORDER BY j.partition_key LIMIT 1)) AS partition_key
    FROM level v
    UNION ALL
    SELECT CASE WHEN w.partition_key > %(after_partition)s THEN coalesce(
        (SELECT j.partition_key FROM dl_jobs j
         WHERE j.queue = %(queue)s AND j.priority = v.priority AND j.status = 'queued' AND j.waits_for IS NULL
           AND j.partition_key > w.partition_key
         ORDER BY j.partition_key LIMIT 1),
        (SELECT j.partition_key FROM dl_jobs j
         WHERE j.queue = %(queue)s AND j.priority = v.priority AND j.status = 'queued' AND j.waits_for IS NULL
           AND j.partition_key <= %(after_partition)s
         ORDER BY j.partition_key LIMIT 1))
    ELSE
        (SELECT j.partition_key FROM dl_jobs j
         WHERE j.queue = %(queue)s AND j.priority = v.priority AND j.status = 'queued' AND j.waits_for IS NULL
           AND j.partition_key > w.partition_key AND j.partition_key <= %(after_partition)s
         ORDER BY j.partition_key LIMIT 1)
    END
    FROM partition w CROSS JOIN level v
    WHERE w.partition_key IS NOT NULL
), turn AS MATERIALIZED (
    SELECT l.partition_key, l.held, l.room, row_number() OVER () AS place FROM (
        SELECT r.partition_key, r.held, %(per_partition)s - r.running AS room FROM (
            SELECT w.partition_key,
                   coalesce((SELECT h.held FROM holder h WHERE h.partition_key = w.partition_key), 0) AS held,
                   coalesce((SELECT b.running FROM busy b WHERE b.partition_key = w.partition_key), 0) AS running
            FROM partition w WHERE w.partition_key IS NOT NULL) AS r
        WHERE (%(per_partition)s::integer IS NULL OR r.running < %(per_partition)s)
          AND (%(free)s::integer IS NULL OR r.held < %(free)s)
        -- The limit counts keys that hold slots in addition, so that they cannot displace keys without slots.
        LIMIT %(look)s + cardinality(%(held_keys)s::text[])) AS l
), entrant AS MATERIALIZED (
    SELECT t.place, t.partition_key, t.held, t.room FROM turn t
    UNION ALL
    SELECT 0, NULL, %(unpartitioned_held)s, NULL WHERE (%(free)s::integer IS NULL OR %(unpartitioned_held)s < %(free)s) AND EXISTS (
        SELECT FROM dl_jobs j
        WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NULL
          AND j.priority = (SELECT v.priority FROM level v))
), share AS MATERIALIZED (
    -- The number of slots up to which each key is filled if it has enough jobs. At least one more slot stays free.
    SELECT min((%(free)s + 1 + k.held_by_fewest) / (k.rank + 1))::bigint AS level, count(*) AS partitions FROM (
        SELECT sum(e.held) OVER fewest_first AS held_by_fewest, row_number() OVER fewest_first AS rank FROM entrant e
        WINDOW fewest_first AS (ORDER BY e.held, e.place ROWS UNBOUNDED PRECEDING)) AS k
), quota AS MATERIALIZED (
    SELECT q.*, q.size * ceil(%(look)s::float8 / %(wanted)s)::bigint AS looked_at FROM (
        SELECT f.place, f.partition_key, f.held, f.room,
               CASE WHEN %(free)s::integer IS NULL THEN ceil(%(wanted)s::float8 / f.partitions)::bigint
                    ELSE f.filled + (f.has_room AND f.rank <= %(free)s - f.level - f.filled_in_all)::integer END AS size
        FROM (SELECT e.*, s.partitions, s.level, e.held <= s.level AS has_room, greatest(0, s.level - e.held) AS filled,
                     sum(greatest(0, s.level - e.held)) OVER () AS filled_in_all,
                     row_number() OVER (ORDER BY e.held > s.level, e.place) AS rank
              FROM entrant e CROSS JOIN share s) AS f) AS q
), unpartitioned AS MATERIALIZED (
    SELECT j.job_id, j.lock_key, j.partition_key, j.priority, j.created_at, j.available_at <= clock_timestamp() AS due
    FROM dl_jobs j
    WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NULL
      AND j.priority = (SELECT v.priority FROM level v)
    ORDER BY j.created_at
    LIMIT (SELECT coalesce(max(q.looked_at), 0) FROM quota q WHERE q.place = 0)
    FOR UPDATE OF j SKIP LOCKED
), partitioned AS MATERIALIZED (
    SELECT f.*, q.place FROM quota q CROSS JOIN LATERAL (
        SELECT j.job_id, j.lock_key, j.partition_key, j.priority, j.created_at, j.available_at <= clock_timestamp() AS due
        FROM dl_jobs j
        WHERE j.queue = %(queue)s AND j.priority = (SELECT v.priority FROM level v) AND j.status = 'queued'
          AND j.waits_for IS NULL AND j.partition_key = q.partition_key
        ORDER BY j.created_at
        LIMIT least(q.looked_at, q.room)
        FOR UPDATE OF j SKIP LOCKED) AS f
), candidate AS MATERIALIZED (
    SELECT a.*, row_number() OVER (PARTITION BY a.place ORDER BY a.created_at, a.job_id) AS turn,
           clock_timestamp() AS met_at
    FROM (SELECT n.*, 0 AS place FROM unpartitioned n UNION ALL SELECT l.* FROM partitioned l) AS a
), scan AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM partition l WHERE l.partition_key IS NOT NULL) AS has_partitions,
           (SELECT v.priority FROM level v) AS level,
           (SELECT count(*) FROM turn) >= %(look)s OR m.is_filled AS has_more,
           (SELECT t.partition_key FROM turn t ORDER BY t.place DESC LIMIT 1) AS last_partition,
           -- Other claims have locked all jobs of a key: poll again for the jobs that they do not take.
           (m.is_passed_over)::integer AS passed_over,
           %(free)s::integer IS NOT NULL AND (m.is_filled OR EXISTS (
               SELECT FROM holder h WHERE h.held >= %(free)s AND EXISTS (
                   SELECT FROM dl_jobs j
                   WHERE j.queue = %(queue)s AND j.priority = (SELECT v.priority FROM level v) AND j.status = 'queued'
                     AND j.waits_for IS NULL AND j.partition_key = h.partition_key))
               OR %(unpartitioned_held)s >= %(free)s AND EXISTS (
                   SELECT FROM dl_jobs j
                   WHERE j.queue = %(queue)s AND j.priority = (SELECT v.priority FROM level v) AND j.status = 'queued'
                     AND j.waits_for IS NULL AND j.partition_key IS NULL)) AS is_held_back
    FROM (SELECT coalesce(bool_or(coalesce(p.met, 0) >= q.looked_at), false) AS is_filled,
                 coalesce(bool_or(q.size > 0 AND p.met IS NULL), false) AS is_passed_over
          FROM quota q
          LEFT JOIN (SELECT c.place, count(*) AS met FROM candidate c GROUP BY c.place) AS p USING (place)) AS m
), seen_lock AS MATERIALIZED (
    SELECT l.lock_key FROM dl_job_locks l
    WHERE l.lock_key = ANY (ARRAY(SELECT c.lock_key FROM candidate c WHERE c.lock_key IS NOT NULL))
), held AS MATERIALIZED (
    SELECT l.lock_key FROM dl_job_locks l
    WHERE l.lock_key = ANY (ARRAY(SELECT s.lock_key FROM seen_lock s))
    FOR KEY SHARE SKIP LOCKED
), first_of_key AS (
    SELECT c.*, row_number() OVER (
        PARTITION BY c.lock_key, CASE WHEN c.lock_key IS NULL THEN c.job_id END
        ORDER BY c.priority, c.turn, c.place, c.created_at, c.job_id) AS nth
    FROM candidate c
    WHERE c.due AND NOT EXISTS (SELECT FROM seen_lock s WHERE s.lock_key = c.lock_key)
), chosen AS MATERIALIZED (
    SELECT n.job_id, n.lock_key, n.partition_key, n.turn, n.place FROM (
        SELECT f.job_id, f.lock_key, f.partition_key, f.place, f.created_at, q.size, q.held + f.rank AS turn, f.rank
        FROM (SELECT o.*, row_number() OVER (PARTITION BY o.place ORDER BY o.created_at, o.job_id) AS rank
              FROM first_of_key o WHERE o.nth = 1) AS f
        JOIN quota q USING (place)) AS n
    WHERE n.rank <= n.size
    ORDER BY n.turn, n.place, n.created_at, n.job_id
    LIMIT %(wanted)s
), taken AS (
    -- In key order, so that concurrent claims cannot deadlock.
    INSERT INTO dl_job_locks (lock_key, job_id, worker_id)
    SELECT c.lock_key, c.job_id, %(worker)s FROM chosen c WHERE c.lock_key IS NOT NULL ORDER BY c.lock_key
    ON CONFLICT DO NOTHING
    RETURNING lock_key, job_id
), deferral AS MATERIALIZED (
    SELECT c.job_id, 'time' AS waits_for FROM candidate c WHERE NOT c.due
    UNION ALL
    SELECT c.job_id, 'key' FROM candidate c
    WHERE c.due
      AND (c.lock_key IN (SELECT h.lock_key FROM held h)
           OR c.lock_key IN (SELECT t.lock_key FROM taken t) AND c.job_id NOT IN (SELECT t.job_id FROM taken t))
), deferred AS (
    UPDATE dl_jobs j SET waits_for = d.waits_for
    FROM deferral d
    WHERE j.job_id = d.job_id AND j.job_id = ANY (ARRAY(SELECT d2.job_id FROM deferral d2))
), claimed AS (
    UPDATE dl_jobs j
    SET status = 'running', attempt = j.attempt + 1, claim_no = j.claim_no + 1, claimed_by = %(worker)s,
        started_at = coalesce(j.started_at, clock_timestamp())
    WHERE j.job_id = ANY (ARRAY(SELECT c.job_id FROM chosen c WHERE c.lock_key IS NULL UNION ALL SELECT t.job_id FROM taken t))
    RETURNING j.job_id, j.claim_no, j.task, j.args, j.lock_key, j.partition_key, j.attempt, j.max_attempts,
              j.lease_ttl_sec, j.checkpoint, j.trace_context, j.priority, j.created_at,
              -- The next death of its worker would be the last allowed, so no other job should be affected (Isolation).
              coalesce(j.worker_deaths > 0 AND j.worker_deaths >= j.max_worker_deaths - 1, false) AS runs_alone,
              extract(epoch FROM clock_timestamp() - greatest(j.available_at, j.created_at))::float8 AS waited_s
), picked AS (
    INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, worker_id)
    SELECT c.job_id, 'picked', c.attempt, c.claim_no, %(worker)s FROM claimed c
), found AS MATERIALIZED (
    SELECT (SELECT greatest(0, extract(epoch FROM CASE WHEN count(*) >= %(look)s THEN max(c.met_at) ELSE clock_timestamp() END
                            - statement_timestamp() - count(*) * interval '10 microseconds'))::float8
 FROM candidate c) AS scanned_s, (SELECT count(*) FROM me) AS registered,
           (SELECT g.is_shut FROM gate g) AS is_shut,
           (SELECT s.has_partitions FROM scan s) AS has_partitions,
           (SELECT s.level FROM scan s) AS level,
           (SELECT s.has_more FROM scan s) AS has_more,
           coalesce((SELECT c.partition_key FROM chosen c WHERE c.partition_key IS NOT NULL ORDER BY c.turn DESC, c.place DESC LIMIT 1),
                    (SELECT s.last_partition FROM scan s)) AS last_partition,
           (SELECT coalesce(array_agg(DISTINCT c.lock_key), '{}') FROM candidate c
            WHERE c.job_id IN (SELECT d.job_id FROM deferral d WHERE d.waits_for = 'key')) AS blocked_keys,
           (SELECT count(*) FROM candidate c
            WHERE c.due AND c.lock_key IS NOT NULL
              AND c.lock_key NOT IN (SELECT t.lock_key FROM taken t) AND c.lock_key NOT IN (SELECT h.lock_key FROM held h)
              AND (c.lock_key IN (SELECT s.lock_key FROM seen_lock s) OR c.job_id IN (SELECT x.job_id FROM chosen x))
           ) + (SELECT s.passed_over FROM scan s) AS contended,
           (SELECT count(*) FROM deferral) AS deferred,
           (SELECT s.is_held_back FROM scan s) AS is_held_back,
           EXISTS (SELECT FROM candidate c WHERE c.lock_key IS NOT NULL OR NOT c.due) AS needs_full_claim,
                  NULL::integer[] AS priorities, NULL::timestamptz[] AS sinces, NULL::timestamptz AS late
)
SELECT f.*, c.job_id, c.claim_no, c.task, c.args, c.lock_key, c.partition_key, c.attempt, c.max_attempts, c.lease_ttl_sec,
       c.checkpoint, c.trace_context, c.waited_s, c.runs_alone
FROM found f LEFT JOIN claimed c ON true
ORDER BY c.priority, c.created_at
