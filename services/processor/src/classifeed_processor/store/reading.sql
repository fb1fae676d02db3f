-- Reads for the gRPC entry points.

-- name: get_task
SELECT t.seller_id, t.namespace, t.task_id, t.kind, t.status, t.phase, t.run, t.mode, t.disposition, t.upload_id,
       t.source_sha256, t.source_bytes, t.file_name, t.format, t.expected_total, t.warnings, t.error_code,
       t.error_message, t.error_line, t.error_column, t.created_at, t.updated_at, t.ended_at, s.statistics,
       extract(epoch FROM s.last_answer_at - s.first_answer_at)::float8 AS reply_s, t.feed_loader_result_id, t.feed_version,
       t.hold, t.decision, t.rerun_of
FROM tasks t LEFT JOIN feed_statistics s USING (seller_id, namespace, task_id)
WHERE t.seller_id = %(seller_id)s AND t.namespace = %(namespace)s AND t.task_id = %(task_id)s

-- name: list_tasks
SELECT t.seller_id, t.namespace, t.task_id, t.kind, t.status, t.phase, t.run, t.mode, t.disposition, t.upload_id,
       t.source_sha256, t.source_bytes, t.file_name, t.format, t.expected_total, t.warnings, t.error_code,
       t.error_message, t.error_line, t.error_column, t.created_at, t.updated_at, t.ended_at, s.statistics,
       extract(epoch FROM s.last_answer_at - s.first_answer_at)::float8 AS reply_s, t.feed_loader_result_id, t.feed_version,
       t.hold, t.decision, t.rerun_of
FROM tasks t LEFT JOIN feed_statistics s USING (seller_id, namespace, task_id)
WHERE t.seller_id = %(seller_id)s AND t.namespace = %(namespace)s AND t.task_id < %(before)s
ORDER BY t.task_id DESC
LIMIT %(limit)s

-- name: list_existing_tasks
SELECT seller_id, namespace, task_id
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[]) AS n(seller_id, namespace, task_id)
JOIN tasks USING (seller_id, namespace, task_id)

-- name: list_standings
SELECT t.seller_id, t.namespace, t.task_id, t.kind, t.status, t.phase, t.error_code, t.error_message, t.error_line,
       s.statistics
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[]) AS n(seller_id, namespace, task_id)
JOIN tasks t USING (seller_id, namespace, task_id)
LEFT JOIN feed_statistics s USING (seller_id, namespace, task_id)

-- name: list_errors
SELECT external_id, error_id, ordinal, level, kind, code, field, line, "column", path, excerpt, value, expected, title,
       message, suggestion, count, parameters
FROM offer_errors
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run = %(run)s
  AND (level, ordinal, line, error_id)
      >= (%(from_level)s::smallint, %(from_ordinal)s::bigint, %(from_line)s::bigint, %(from_error_id)s::text)
  AND (%(level)s::smallint = 0 OR level = %(level)s::smallint)
  AND (%(kind)s::smallint = 0 OR kind = %(kind)s::smallint)
  AND (%(code)s::text = '' OR code = %(code)s::text)
  AND (%(field)s::text = '' OR field = %(field)s::text)
  AND (%(external_id)s::text = '' OR external_id = %(external_id)s::text)
ORDER BY level, ordinal, line, error_id
LIMIT %(limit)s

-- name: find_batch
-- Batches are in the order of the file, so the number of earlier offers determines the batch of an offer.
SELECT batch_id, sent_at, answered_at
FROM (SELECT batch_id, sent_at, answered_at, sum(records) OVER (ORDER BY batch_id) AS last_ordinal
      FROM offer_batches
      WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run = %(run)s) b
WHERE last_ordinal >= %(ordinal)s
ORDER BY batch_id
LIMIT 1

-- name: first_sent
SELECT sent_at FROM offer_batches
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run = %(run)s
ORDER BY batch_id
LIMIT 1

-- name: count_open
SELECT count(*) FROM tasks WHERE ended_at IS NULL AND status <> %(held)s

-- name: count_held
-- The number of held tasks, and the waiting time of the oldest.
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(held_at)), 0)::float8
FROM tasks WHERE ended_at IS NULL AND status = %(held)s

-- name: count_failing_jobs
-- The number of a queue's jobs that wait after some attempts, and an error of one of them.
SELECT count(*), coalesce(min(error), '')
FROM dl_jobs WHERE queue = %(queue)s AND waits_for = 'time' AND attempt >= %(attempts)s

-- name: count_unheard
-- The number of open tasks with some requests without a reply, and the longest wait.
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(updated_at)), 0)::float8
FROM tasks WHERE ended_at IS NULL AND asks >= %(asks)s
