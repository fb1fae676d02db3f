-- Tasks: created in the order of their namespace, moved by their jobs and by replies of the service offers.

-- name: lock_counter
-- The row lock makes task ids grow in the order in which tasks become visible.
INSERT INTO task_counters AS c (seller_id, namespace, last_task_id)
VALUES (%(seller_id)s, %(namespace)s, 0)
ON CONFLICT (seller_id, namespace) DO UPDATE SET last_task_id = c.last_task_id

-- name: find_upload
SELECT seller_id, namespace, task_id, kind, status, error_code, mode, disposition, feed_version, feed_loader_result_id,
       source_sha256, format_wanted, default_currency, parser_version
FROM tasks
WHERE upload_id = %(upload_id)s

-- name: find_fetch
SELECT seller_id, namespace, task_id, kind, status, error_code, mode, disposition, feed_version, feed_loader_result_id,
       source_sha256, format_wanted, default_currency, parser_version
FROM tasks
WHERE feed_loader_task_id = %(feed_loader_task_id)s AND feed_loader_result_id = %(feed_loader_result_id)s

-- name: find_removal
-- Kind 2 is DELETE, as in the index.
SELECT seller_id, namespace, task_id, kind, status, error_code, mode, disposition, feed_version, feed_loader_result_id,
       source_sha256, format_wanted, default_currency, parser_version
FROM tasks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND feed_version = %(feed_version)s AND kind = 2

-- name: find_newest
-- A task that was canceled after it began has changed offers, so it counts as the newest.
SELECT seller_id, namespace, task_id, kind, status, error_code, mode, disposition, feed_version, feed_loader_result_id,
       source_sha256, format_wanted, default_currency, parser_version
FROM tasks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s
  AND status <> %(superseded)s::smallint AND (status <> %(canceled)s::smallint OR run > 0)
ORDER BY task_id DESC
LIMIT 1

-- name: find_newest_fetch
SELECT feed_version, feed_loader_result_id FROM tasks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND feed_loader_result_id IS NOT NULL
  AND status = ANY(%(statuses)s::smallint[])
ORDER BY feed_version DESC, feed_loader_result_id DESC
LIMIT 1

-- name: find_removed_version
SELECT coalesce(max(feed_version), 0) FROM tasks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND kind = 2

-- name: draw_task_id
-- Never below the clock in µs: the service offers compares ids, so a restored database must not assign one twice.
UPDATE task_counters
SET last_task_id = greatest(last_task_id + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s
RETURNING last_task_id

-- name: insert_task
INSERT INTO tasks (seller_id, namespace, task_id, kind, status, phase, mode, disposition, upload_id,
                   feed_loader_task_id, feed_loader_result_id, feed_version, source_sha256, source_bytes, file_name,
                   format_wanted, default_currency, parser_version, decision, job_id)
VALUES (%(seller_id)s, %(namespace)s, %(task_id)s, %(kind)s, %(status)s, %(phase)s, %(mode)s, %(disposition)s,
        %(upload_id)s, %(feed_loader_task_id)s, %(feed_loader_result_id)s, %(feed_version)s, %(source_sha256)s,
        %(source_bytes)s, %(file_name)s, %(format_wanted)s, %(default_currency)s, %(parser_version)s, %(decision)s,
        %(job_id)s)

-- name: lock_task
SELECT kind, status, phase, run, incomplete_runs, mode, disposition, source_sha256, source_bytes, batch_count, digest,
       feed_version, feed_loader_result_id, format_wanted, default_currency, window_state AS "window", asks,
       extract(epoch FROM clock_timestamp() - asked_at)::float8 AS since_request_s, decision,
       decided_at IS NOT NULL AS was_decided
FROM tasks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s
FOR UPDATE

-- name: find_job
SELECT job_id FROM tasks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s

-- name: read_state
SELECT status, phase, run FROM tasks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s

-- name: has_earlier
-- Earlier tasks of the namespace that run first. A held task has already run.
SELECT EXISTS (
    SELECT FROM tasks
    WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id < %(task_id)s AND ended_at IS NULL
      AND status <> %(held)s
)

-- name: supersede_held
UPDATE tasks SET status = %(superseded)s, phase = %(done)s, updated_at = clock_timestamp(), ended_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id < %(task_id)s AND ended_at IS NULL
  AND status = %(held)s
RETURNING task_id

-- name: begin_run
-- Never below the seconds since 2025, for the same reason as task ids: runs of a task are compared, too.
UPDATE tasks
SET run = greatest(run + 1, (extract(epoch FROM clock_timestamp()) - 1735689600)::integer), phase = %(parsing)s,
    batch_count = NULL, digest = NULL, sent_at = NULL, window_state = 0, asks = 0, asked_at = NULL,
    updated_at = clock_timestamp(), begun_at = coalesce(begun_at, clock_timestamp())
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s
RETURNING run

-- name: drop_batches
DELETE FROM offer_batches
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run < %(run)s

-- name: drop_errors
DELETE FROM offer_errors
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run < %(run)s

-- name: drop_chunks
DELETE FROM issue_chunks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run < %(run)s

-- name: begin_statistics
INSERT INTO feed_statistics (seller_id, namespace, task_id, run, statistics)
VALUES (%(seller_id)s, %(namespace)s, %(task_id)s, %(run)s, %(statistics)s)
ON CONFLICT (seller_id, namespace, task_id) DO UPDATE
SET run = excluded.run, statistics = excluded.statistics, first_answer_at = NULL, last_answer_at = NULL

-- name: note_scan
UPDATE tasks
SET format = %(format)s, expected_total = %(expected_total)s, warnings = %(warnings)s, updated_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run = %(run)s
  AND ended_at IS NULL

-- name: insert_batches
INSERT INTO offer_batches (seller_id, namespace, task_id, run, batch_id, records)
SELECT %(seller_id)s, %(namespace)s, %(task_id)s, %(run)s, n.batch_id, n.records
FROM unnest(%(batch_ids)s::bigint[], %(records)s::integer[]) AS n(batch_id, records)

-- name: count_unanswered
SELECT count(*) FROM offer_batches
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run = %(run)s
  AND answered_at IS NULL

-- name: list_unanswered
SELECT batch_id FROM offer_batches
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run = %(run)s
  AND answered_at IS NULL

-- name: find_last_batch
SELECT coalesce(max(batch_id), 0) FROM offer_batches
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run = %(run)s

-- name: note_sent
-- A task that was ended during its run stays ended.
UPDATE tasks
SET phase = %(sent)s, batch_count = %(batch_count)s, digest = %(digest)s, sent_at = clock_timestamp(), asks = 0,
    asked_at = NULL, updated_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run = %(run)s
  AND ended_at IS NULL

-- name: end_task
UPDATE tasks
SET status = %(status)s, phase = %(done)s, error_code = %(error_code)s, error_message = %(error_message)s,
    error_line = %(error_line)s, error_column = %(error_column)s, updated_at = clock_timestamp(),
    ended_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND ended_at IS NULL

-- name: hold_task
UPDATE tasks
SET status = %(held)s, hold = %(hold)s, held_at = clock_timestamp(), updated_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND ended_at IS NULL

-- name: note_decision
-- Another job sends TaskEnd again, with the decision. The time of the reply is measured from now, without the wait for the
-- decision.
UPDATE tasks
SET status = %(in_progress)s, decision = %(decision)s, decided_at = clock_timestamp(), asks = 0, asked_at = NULL,
    sent_at = clock_timestamp(), job_id = %(job_id)s, updated_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s

-- name: await_rerun
-- The run is over: further replies about it are ignored.
UPDATE tasks
SET run = run + 1, phase = %(parsing)s, incomplete_runs = incomplete_runs + 1, window_state = 0, asks = 0, asked_at = NULL,
    updated_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND ended_at IS NULL

-- name: stall
UPDATE tasks SET window_state = %(stalled)s, updated_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run = %(run)s
  AND ended_at IS NULL

-- name: note_request
UPDATE tasks SET asks = asks + 1, asked_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s

-- name: note_reported
-- The lost replies are known: the job continues the run.
UPDATE tasks
SET phase = %(parsing)s, window_state = %(reported)s, asks = 0, asked_at = NULL, incomplete_runs = incomplete_runs + %(losses)s,
    updated_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND ended_at IS NULL

-- name: resume
UPDATE tasks SET window_state = 0, asks = 0, asked_at = NULL, updated_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s

-- name: warn
UPDATE tasks SET warnings = warnings || %(warning)s::text
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s

-- name: find_next_job
-- The job of the first task that waits for the end of this one.
SELECT job_id FROM tasks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id > %(task_id)s AND ended_at IS NULL
  AND status <> %(held)s
ORDER BY task_id
LIMIT 1
