-- name: register_worker
INSERT INTO dl_workers (worker_id, queues, hook_tasks) VALUES (%(worker)s, %(queues)s, %(hook_tasks)s)
ON CONFLICT (worker_id) DO UPDATE SET renewed_at = clock_timestamp()

-- name: renew_worker
UPDATE dl_workers SET renewed_at = clock_timestamp() WHERE worker_id = %(worker)s

-- name: leave_worker
-- Only when nothing is left running under its name: the reaper finds lost jobs through this row.
DELETE FROM dl_workers w
WHERE w.worker_id = %(worker)s
  AND NOT EXISTS (SELECT FROM dl_jobs j WHERE j.claimed_by = w.worker_id AND j.status = 'running')

-- name: claims_held
SELECT j.job_id, j.claim_no, j.cancel_requested
FROM dl_jobs j
WHERE j.claimed_by = %(worker)s AND j.status = 'running'

-- name: claims_held_of
-- The claims under which these jobs run now, by the primary key: named by whom, a plan could scan all it has ended.
SELECT j.job_id, j.claim_no, j.cancel_requested
FROM dl_jobs j
WHERE j.claimed_by IS NOT NULL AND j.job_id = ANY (%(job_ids)s::uuid[])
