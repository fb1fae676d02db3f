-- Data of a load for the log and the metrics.

-- name: read_load
SELECT t.kind, t.status, t.format, t.format_wanted, t.source_bytes, t.upload_id IS NOT NULL AS is_uploaded,
       t.feed_loader_result_id IS NOT NULL AS is_fetched, t.error_code,
       extract(epoch FROM coalesce(t.begun_at, t.ended_at) - t.created_at)::float8 AS waited_s,
       extract(epoch FROM t.ended_at - t.begun_at)::float8 AS duration_s, s.statistics
FROM tasks t
LEFT JOIN feed_statistics s
    ON s.seller_id = t.seller_id AND s.namespace = t.namespace AND s.task_id = t.task_id AND s.run = t.run
WHERE t.seller_id = %(seller_id)s AND t.namespace = %(namespace)s AND t.task_id = %(task_id)s
