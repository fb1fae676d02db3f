-- What of fetches may have been kept long enough.

-- name: list_ended
-- Ended fetches behind a place, in their order: those that made a task, and all of removed sources. The one whose file the
-- source may request again is none of them.
SELECT f.seller_id, f.namespace, f.feed_loader_result_id, CASE WHEN f.outcome = %(loaded)s THEN f.task ELSE '' END
FROM feed_fetches f
JOIN feed_loader_task t USING (seller_id, namespace)
WHERE (f.seller_id, f.namespace, f.feed_loader_result_id)
      > (%(seller_id)s::text, %(namespace)s::text, %(fetch_id)s::bigint)
  AND f.ended_at IS NOT NULL AND f.feed_loader_result_id <> t.last_result_id
  AND (f.outcome = %(loaded)s OR t.status = %(removed)s)
ORDER BY f.seller_id, f.namespace, f.feed_loader_result_id
LIMIT %(limit)s
