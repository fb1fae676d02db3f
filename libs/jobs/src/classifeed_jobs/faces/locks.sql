-- name: list_held
-- The longest held first. Of the jobs that wait, those count that a worker has met: they are parked until the key is free.
SELECT l.lock_key, l.job_id, l.worker_id, l.acquired_at,
       (SELECT count(*) FROM dl_jobs j WHERE j.lock_key = l.lock_key AND j.waits_for = 'key') AS waiting
FROM dl_job_locks l ORDER BY l.acquired_at, l.lock_key LIMIT %(limit)s
