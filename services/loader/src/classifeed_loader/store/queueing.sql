-- Queueing of due and of requested fetches.

-- name: queue_due
-- The due sources, oldest first, each moved to its next slot. A source that another scheduler has locked is skipped. A
-- source whose scheduled fetch is still open, or whose slot had a fetch, is moved without a new fetch.
-- statement_timestamp() is stable, so that the condition can use the index.
WITH due AS MATERIALIZED (
    SELECT seller_id, namespace, feed_loader_task_id, feed_version, next_due_at, last_fetched_at
    FROM feed_loader_task
    WHERE next_due_at <= statement_timestamp()
    ORDER BY next_due_at, last_fetched_at NULLS FIRST
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), moved AS (
    UPDATE feed_loader_task
    SET next_due_at = clock_timestamp()
                      + greatest(interval_s * (0.9 + 0.2 * random()), %(min_interval_s)s) * interval '1 second'
    WHERE feed_loader_task_id = ANY (ARRAY(SELECT d.feed_loader_task_id FROM due d))
)
INSERT INTO feed_fetches (seller_id, namespace, feed_version, trigger, outcome, slot_at)
SELECT seller_id, namespace, feed_version, %(schedule)s, %(queued)s, next_due_at
FROM due
ORDER BY next_due_at, last_fetched_at NULLS FIRST
ON CONFLICT DO NOTHING
RETURNING seller_id, namespace, feed_loader_result_id

-- name: next_due
SELECT extract(epoch FROM min(next_due_at) - statement_timestamp())::float8 FROM feed_loader_task WHERE next_due_at IS NOT NULL

-- name: count_due
SELECT count(*) FROM (
    SELECT FROM feed_loader_task WHERE next_due_at <= statement_timestamp() LIMIT %(limit)s
) AS due

-- name: insert_request
INSERT INTO feed_fetches (seller_id, namespace, feed_version, trigger, outcome, forced, request_id)
VALUES (%(seller_id)s, %(namespace)s, %(feed_version)s, %(request)s, %(queued)s, %(forced)s, %(request_id)s)
ON CONFLICT (seller_id, request_id) WHERE request_id IS NOT NULL DO NOTHING
RETURNING seller_id, namespace, feed_loader_result_id

-- name: find_request
SELECT seller_id, namespace, feed_loader_result_id FROM feed_fetches
WHERE seller_id = %(seller_id)s AND request_id = %(request_id)s
