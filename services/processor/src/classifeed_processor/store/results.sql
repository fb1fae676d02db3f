-- Replies of the service offers, stored in one transaction with the position of the consumer.

-- name: lock_tasks
-- Locks in the order of keys, which prevents deadlocks.
SELECT t.seller_id, t.namespace, t.task_id, t.status, t.phase, t.run, t.incomplete_runs, t.window_state AS "window",
       t.job_id, extract(epoch FROM clock_timestamp() - t.sent_at)::float8 AS sent_s, t.decision
FROM tasks t
JOIN (SELECT DISTINCT * FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[]))
     AS n(seller_id, namespace, task_id) USING (seller_id, namespace, task_id)
ORDER BY t.seller_id, t.namespace, t.task_id
FOR UPDATE OF t

-- name: note_replies
-- Only the first reply to a batch counts; the returned rows are the batches with a first reply.
UPDATE offer_batches b SET answered_at = clock_timestamp()
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[], %(runs)s::integer[],
            %(batch_ids)s::bigint[]) AS n(seller_id, namespace, task_id, run, batch_id)
WHERE b.seller_id = n.seller_id AND b.namespace = n.namespace AND b.task_id = n.task_id AND b.run = n.run
  AND b.batch_id = n.batch_id AND b.answered_at IS NULL
RETURNING b.seller_id, b.namespace, b.task_id, b.batch_id

-- name: lock_statistics
SELECT run, statistics FROM feed_statistics
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s
FOR UPDATE

-- name: save_statistics
UPDATE feed_statistics
SET statistics = %(statistics)s,
    first_answer_at = CASE WHEN %(replied)s THEN coalesce(first_answer_at, clock_timestamp()) ELSE first_answer_at END,
    last_answer_at = CASE WHEN %(replied)s THEN clock_timestamp() ELSE last_answer_at END
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s

-- name: touch_task
UPDATE tasks SET updated_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s

-- name: insert_errors
-- A repeated issue is one row. Issues of earlier runs were deleted when this run began.
INSERT INTO offer_errors (seller_id, namespace, task_id, external_id, error_id, run, ordinal, level, kind, code, field,
                          line, "column", path, excerpt, value, expected, title, message, suggestion, count,
                          parameters)
SELECT %(seller_id)s, %(namespace)s, %(task_id)s, n.external_id, n.error_id, %(run)s, n.ordinal, n.level, n.kind, n.code,
       n.field, n.line, n."column", n.path, n.excerpt, n.value, n.expected, n.title, n.message, n.suggestion,
       n.count, n.parameters
FROM unnest(%(external_ids)s::text[], %(error_ids)s::text[], %(ordinals)s::bigint[], %(levels)s::smallint[],
            %(kinds)s::smallint[], %(codes)s::text[], %(fields)s::text[], %(lines)s::bigint[], %(columns)s::bigint[],
            %(paths)s::text[], %(excerpts)s::text[], %(values)s::text[], %(expecteds)s::text[], %(titles)s::text[],
            %(messages)s::text[], %(suggestions)s::text[], %(counts)s::integer[], %(parameters)s::bytea[])
     AS n(external_id, error_id, ordinal, level, kind, code, field, line, "column", path, excerpt, value, expected, title,
          message, suggestion, count, parameters)
ON CONFLICT (seller_id, namespace, task_id, external_id, error_id) DO NOTHING

-- name: note_late_errors
-- Only the first report of a late error counts; the returned rows are the new errors. Errors that move a count are always
-- stored. Other errors are stored up to %(limit)s rows of the task; errors beyond that are returned each time.
WITH n AS (
    SELECT external_id, error_id, bool_or(moves) AS moves
    FROM unnest(%(external_ids)s::text[], %(error_ids)s::text[], %(move)s::boolean[]) AS u (external_id, error_id, moves)
    GROUP BY external_id, error_id
), fresh AS (
    SELECT n.external_id, n.error_id, n.moves, row_number() OVER (ORDER BY n.moves DESC, n.external_id, n.error_id) AS rank
    FROM n
    LEFT JOIN LATERAL (
        SELECT true AS noted
        FROM late_errors e
        WHERE e.seller_id = %(seller_id)s AND e.namespace = %(namespace)s AND e.task_id = %(task_id)s
          AND e.external_id = n.external_id AND e.error_id = n.error_id
        LIMIT 1
    ) AS k ON true
    WHERE k.noted IS NULL
), room AS (
    SELECT %(limit)s - count(*) AS rows_left
    FROM (SELECT 1
          FROM late_errors
          WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s
          LIMIT %(limit)s) AS noted
), noted AS (
    INSERT INTO late_errors (seller_id, namespace, task_id, external_id, error_id)
    SELECT %(seller_id)s, %(namespace)s, %(task_id)s, fresh.external_id, fresh.error_id
    FROM fresh, room
    WHERE fresh.moves OR fresh.rank <= room.rows_left
)
SELECT external_id, error_id FROM fresh
