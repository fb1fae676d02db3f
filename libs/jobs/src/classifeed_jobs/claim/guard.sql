-- name: guard_claim
-- Blocks the reaper and every other completion of this claim until the transaction ends, but not progress and
-- cancellation. If the process hangs inside the transaction, the server closes its session after the lease.
SELECT set_config('idle_in_transaction_session_timeout', (j.lease_ttl_sec * 1000)::text, true)
FROM dl_jobs j
WHERE j.job_id = %(job_id)s AND j.claim_no = %(claim_no)s AND j.status = 'running'
FOR KEY SHARE OF j

-- name: save_checkpoint
UPDATE dl_jobs
SET checkpoint = %(checkpoint)s,
    worker_deaths = CASE WHEN %(is_progress)s THEN 0 ELSE worker_deaths END,
    unknown_faults = CASE WHEN %(is_progress)s THEN 0 ELSE unknown_faults END
WHERE job_id = %(job_id)s AND claim_no = %(claim_no)s AND status = 'running'

-- name: save_progress
-- Skips rows that are locked by a transaction with effects: progress is not worth a wait.
UPDATE dl_jobs j SET progress = p.progress
FROM unnest(%(job_ids)s::uuid[], %(claim_nos)s::integer[], %(progress)s::jsonb[]) AS p(job_id, claim_no, progress)
WHERE j.job_id = p.job_id AND j.claim_no = p.claim_no AND j.claimed_by IS NOT NULL
  AND j.job_id = ANY (ARRAY(
      SELECT l.job_id FROM dl_jobs l WHERE l.job_id = ANY (%(job_ids)s::uuid[]) FOR NO KEY UPDATE SKIP LOCKED))
