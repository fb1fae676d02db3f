-- name: register_worker
INSERT INTO dl_workers (worker_id, queues, hook_tasks) VALUES (%(worker)s, %(queues)s, %(hook_tasks)s)
ON CONFLICT (worker_id) DO UPDATE SET renewed_at = clock_timestamp()

-- name: renew_worker
UPDATE dl_workers SET renewed_at = clock_timestamp() WHERE worker_id = %(worker)s

-- name: leave_worker
-- Only if no job is running under this row: the reaper finds lost jobs through it.
DELETE FROM dl_workers w
WHERE w.worker_id = %(worker)s
  AND NOT EXISTS (SELECT FROM dl_jobs j WHERE j.claimed_by = w.worker_id AND j.status = 'running')

-- name: claims_held
SELECT j.job_id, j.claim_no, j.cancel_requested
FROM dl_jobs j
WHERE j.claimed_by = %(worker)s AND j.status = 'running'

-- name: claims_held_of
-- Current claims of these jobs, by primary key: with a condition on the worker, the planner might scan its completed
-- jobs.
SELECT j.job_id, j.claim_no, j.cancel_requested
FROM dl_jobs j
WHERE j.claimed_by IS NOT NULL AND j.job_id = ANY (%(job_ids)s::uuid[])
