-- name: promote_next
-- Returns the first blocked job of each released key to the claim index. An extra promotion is harmless, but without
-- one a job stays blocked forever: call it after each release of a key, and after the removal of a job that was
-- promoted for it.
UPDATE dl_jobs SET waits_for = NULL
WHERE job_id = ANY (ARRAY(
    SELECT h.job_id FROM unnest(%(lock_keys)s::text[]) AS k(lock_key) CROSS JOIN LATERAL (
        SELECT p.job_id FROM dl_jobs p
        WHERE p.lock_key = k.lock_key AND p.waits_for = 'key'
        ORDER BY p.priority, p.created_at LIMIT 1
        FOR UPDATE) AS h))
RETURNING queue, priority, least(greatest(created_at, '0001-01-02'), '9998-12-31')

-- name: notify_queues
SELECT pg_notify('dl_jobs', q.queue) FROM unnest(%(queues)s::text[]) AS q(queue)
