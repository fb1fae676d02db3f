-- Fetches whose retention may have ended.

-- name: list_ended
-- The next ended fetches in order: those that created a task, and all of removed sources. The fetch whose file the next
-- conditional request may confirm is not listed.
SELECT f.seller_id, f.namespace, f.feed_loader_result_id, CASE WHEN f.outcome = %(loaded)s THEN f.task ELSE '' END
FROM feed_fetches f
JOIN feed_loader_task t USING (seller_id, namespace)
WHERE (f.seller_id, f.namespace, f.feed_loader_result_id)
      > (%(seller_id)s::text, %(namespace)s::text, %(fetch_id)s::bigint)
  AND f.ended_at IS NOT NULL AND f.feed_loader_result_id <> t.last_result_id
  AND (f.outcome = %(loaded)s OR t.status = %(removed)s)
ORDER BY f.seller_id, f.namespace, f.feed_loader_result_id
LIMIT %(limit)s
