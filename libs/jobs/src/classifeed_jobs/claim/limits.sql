-- name: lock_limits
-- Serializes claims of a queue with limits: the counts must not grow during a claim.
SELECT q.paused_at IS NOT NULL AS is_paused, q.max_running, q.max_running_per_partition, q.rate_per_s,
       least(q.rate_burst, q.tokens + q.rate_per_s * extract(epoch FROM clock_timestamp() - q.refilled_at)::float8) AS tokens
FROM dl_queues q WHERE q.queue = %(queue)s
FOR NO KEY UPDATE

-- name: count_running
SELECT count(*) FROM dl_jobs r WHERE r.claimed_by IS NOT NULL AND r.status = 'running' AND r.queue = %(queue)s

-- name: spend_tokens
UPDATE dl_queues q
SET tokens = least(q.rate_burst, q.tokens + q.rate_per_s * extract(epoch FROM n.now - q.refilled_at)::float8) - %(spent)s,
    refilled_at = n.now
FROM (SELECT clock_timestamp() AS now) AS n
WHERE q.queue = %(queue)s

-- name: is_waiting
SELECT EXISTS (
    SELECT FROM dl_jobs j
    WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NULL)
OR EXISTS (
    SELECT FROM dl_jobs j
    WHERE j.queue = %(queue)s AND j.status = 'queued' AND j.waits_for IS NULL AND j.partition_key IS NOT NULL)
