-- name: lock_lost
-- Running jobs whose process has not renewed its lease within the job's lease time, locked for complete_claims. With
-- `is_hooked`: jobs that would complete and whose task has a hook that is known here. Without it: all other jobs,
-- except jobs that would complete and whose worker knew a hook. After an hour, these complete without the hook.
-- statement_timestamp(): a volatile function could not bound an index scan.
SELECT l.job_id, l.claim_no
FROM dl_workers w CROSS JOIN LATERAL (
    SELECT j.job_id, j.claim_no
    FROM dl_jobs j CROSS JOIN LATERAL (
        SELECT j.cancel_requested OR j.attempt >= j.max_attempts OR j.worker_deaths >= j.max_worker_deaths - 1 AS here) AS ends
    WHERE j.claimed_by = w.worker_id AND j.status = 'running'
      AND j.lease_ttl_sec < ceil(extract(epoch FROM statement_timestamp() - w.renewed_at))::integer
      AND CASE WHEN %(is_hooked)s
               THEN j.task = ANY (%(tasks)s::text[]) AND ends.here AND j.job_id <> ALL (%(without)s::uuid[])
               ELSE j.job_id <> ALL (%(without)s::uuid[])
                    AND ((j.task = ANY (%(tasks)s::text[]) OR j.task = ANY (w.hook_tasks)
                      AND w.renewed_at > statement_timestamp() - interval '1 hour') AND ends.here) IS NOT TRUE END
    ORDER BY j.lease_ttl_sec LIMIT %(limit)s
    FOR UPDATE OF j SKIP LOCKED) AS l
LIMIT %(limit)s

-- name: next_expiry
SELECT extract(epoch FROM min(w.renewed_at + s.lease_ttl_sec * interval '1 second') - clock_timestamp())::float8 AS in_s
FROM dl_workers w CROSS JOIN LATERAL (
    SELECT j.lease_ttl_sec FROM dl_jobs j
    WHERE j.claimed_by = w.worker_id AND j.status = 'running'
    ORDER BY j.lease_ttl_sec LIMIT 1) AS s

-- name: count_lost
SELECT count(*)
FROM dl_workers w JOIN dl_jobs j ON j.claimed_by = w.worker_id AND j.status = 'running'
    AND j.lease_ttl_sec < ceil(extract(epoch FROM statement_timestamp() - w.renewed_at))::integer
