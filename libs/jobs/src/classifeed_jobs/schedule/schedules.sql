-- name: put_schedule
-- If the timing is unchanged, so is the next slot: storing a schedule at each start must not skip a slot.
INSERT INTO dl_schedules AS s (name, queue, task, args, lock_key, partition_key, priority, max_attempts, lease_ttl_sec, cron,
                               every_sec, time_zone, missed, grace_sec, overlap, next_slot)
VALUES (%(name)s, %(queue)s, %(task)s, %(args)s, %(lock_key)s, %(partition_key)s, %(priority)s, %(max_attempts)s,
        %(lease_ttl_sec)s, %(cron)s, %(every_sec)s, %(time_zone)s, %(missed)s, %(grace_sec)s, %(overlap)s, %(next_slot)s)
ON CONFLICT (name) DO UPDATE
SET queue = EXCLUDED.queue, task = EXCLUDED.task, args = EXCLUDED.args, lock_key = EXCLUDED.lock_key,
    partition_key = EXCLUDED.partition_key, priority = EXCLUDED.priority, max_attempts = EXCLUDED.max_attempts,
    lease_ttl_sec = EXCLUDED.lease_ttl_sec, cron = EXCLUDED.cron, every_sec = EXCLUDED.every_sec,
    time_zone = EXCLUDED.time_zone, missed = EXCLUDED.missed, grace_sec = EXCLUDED.grace_sec, overlap = EXCLUDED.overlap,
    next_slot = CASE WHEN (s.cron, s.every_sec, s.time_zone)
                          IS NOT DISTINCT FROM (EXCLUDED.cron, EXCLUDED.every_sec, EXCLUDED.time_zone)
                     THEN s.next_slot ELSE EXCLUDED.next_slot END,
    updated_at = clock_timestamp()

-- name: remove_schedule
DELETE FROM dl_schedules WHERE name = %(name)s
RETURNING name, queue, task, args::text AS args, lock_key, partition_key, priority, max_attempts, lease_ttl_sec AS lease_ttl_s,
       cron, every_sec AS every_s, time_zone, missed, grace_sec AS grace_s, overlap, paused_at, paused_by,
       least(greatest(next_slot, '1970-01-01'), '9998-12-31') AS next_slot, last_slot, last_job_id, clock_timestamp() AS now

-- name: pause_schedule
UPDATE dl_schedules SET paused_at = clock_timestamp(), paused_by = %(by)s, updated_at = clock_timestamp()
WHERE name = %(name)s AND paused_at IS NULL

-- name: lock_schedule
SELECT name, queue, task, args::text AS args, lock_key, partition_key, priority, max_attempts, lease_ttl_sec AS lease_ttl_s,
       cron, every_sec AS every_s, time_zone, missed, grace_sec AS grace_s, overlap, paused_at, paused_by,
       least(greatest(next_slot, '1970-01-01'), '9998-12-31') AS next_slot, last_slot, last_job_id, clock_timestamp() AS now
FROM dl_schedules WHERE name = %(name)s
FOR UPDATE

-- name: resume_schedule
UPDATE dl_schedules SET paused_at = NULL, paused_by = NULL, next_slot = %(next_slot)s, updated_at = clock_timestamp()
WHERE name = %(name)s

-- name: get_schedule
SELECT name, queue, task, args::text AS args, lock_key, partition_key, priority, max_attempts, lease_ttl_sec AS lease_ttl_s,
       cron, every_sec AS every_s, time_zone, missed, grace_sec AS grace_s, overlap, paused_at, paused_by,
       least(greatest(next_slot, '1970-01-01'), '9998-12-31') AS next_slot, last_slot, last_job_id, clock_timestamp() AS now
FROM dl_schedules WHERE name = %(name)s

-- name: list_schedules
SELECT name, queue, task, args::text AS args, lock_key, partition_key, priority, max_attempts, lease_ttl_sec AS lease_ttl_s,
       cron, every_sec AS every_s, time_zone, missed, grace_sec AS grace_s, overlap, paused_at, paused_by,
       least(greatest(next_slot, '1970-01-01'), '9998-12-31') AS next_slot, last_slot, last_job_id, clock_timestamp() AS now
FROM dl_schedules WHERE name > %(after)s ORDER BY name LIMIT %(limit)s

-- name: lock_due
-- Schedulers share the due schedules: the process that locks a row enqueues its jobs.
SELECT name, queue, task, args::text AS args, lock_key, partition_key, priority, max_attempts, lease_ttl_sec AS lease_ttl_s,
       cron, every_sec AS every_s, time_zone, missed, grace_sec AS grace_s, overlap, paused_at, paused_by,
       least(greatest(next_slot, '1970-01-01'), '9998-12-31') AS next_slot, last_slot, last_job_id, clock_timestamp() AS now
FROM dl_schedules
WHERE paused_at IS NULL AND next_slot <= statement_timestamp() AND name <> ALL (%(failed)s::text[])
ORDER BY next_slot LIMIT %(limit)s
FOR UPDATE SKIP LOCKED

-- name: status_of_last
-- NULL if the job is complete.
SELECT (SELECT j.status FROM dl_jobs j WHERE j.job_id = %(job_id)s) AS status

-- name: move_schedule
UPDATE dl_schedules
SET next_slot = %(next_slot)s, last_slot = coalesce(%(last_slot)s, last_slot), last_job_id = coalesce(%(last_job_id)s, last_job_id)
WHERE name = %(name)s

-- name: next_slot
SELECT extract(epoch FROM min(next_slot) - clock_timestamp())::float8 AS in_s FROM dl_schedules
WHERE paused_at IS NULL AND next_slot < 'infinity' AND name <> ALL (%(failed)s::text[])

-- name: count_due
SELECT count(*) FROM dl_schedules WHERE paused_at IS NULL AND next_slot <= statement_timestamp()
