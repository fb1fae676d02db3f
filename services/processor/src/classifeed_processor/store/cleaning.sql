-- Deletes old tasks and their details.

-- name: list_namespaces
SELECT seller_id, namespace FROM task_counters
WHERE (seller_id, namespace) > (%(seller_id)s::text, %(namespace)s::text)
ORDER BY seller_id, namespace
LIMIT %(limit)s

-- name: list_old_tasks
-- In each namespace: ended tasks except the newest ones, and all tasks before a successful removal of its feed. Tasks that
-- later tasks are compared with are kept: the newest removal, the newest loaded fetch, and the newest task that was neither
-- superseded nor canceled before it began. Kind 2 is DELETE, as in the index.
SELECT n.seller_id, n.namespace, o.task_id
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[]) AS n(seller_id, namespace)
CROSS JOIN LATERAL (
    SELECT (SELECT t.task_id FROM tasks t
            WHERE t.seller_id = n.seller_id AND t.namespace = n.namespace AND t.kind = 2
            ORDER BY t.feed_version DESC LIMIT 1) AS newest_removal,
           (SELECT coalesce(max(t.task_id), 0) FROM tasks t
            WHERE t.seller_id = n.seller_id AND t.namespace = n.namespace AND t.kind = 2
              AND t.status = %(succeeded)s) AS removed_before,
           (SELECT t.task_id FROM tasks t
            WHERE t.seller_id = n.seller_id AND t.namespace = n.namespace AND t.feed_loader_result_id IS NOT NULL
              AND t.status = ANY(%(finished)s::smallint[])
            ORDER BY t.feed_version DESC, t.feed_loader_result_id DESC LIMIT 1) AS newest_fetch,
           (SELECT t.task_id FROM tasks t
            WHERE t.seller_id = n.seller_id AND t.namespace = n.namespace AND t.ended_at IS NOT NULL
            ORDER BY t.task_id DESC OFFSET %(kept)s LIMIT 1) AS newest_old,
           (SELECT t.task_id FROM tasks t
            WHERE t.seller_id = n.seller_id AND t.namespace = n.namespace
              AND t.status <> %(superseded)s::smallint AND (t.status <> %(canceled)s::smallint OR t.run > 0)
            ORDER BY t.task_id DESC LIMIT 1) AS newest_current
) AS k
CROSS JOIN LATERAL (
    SELECT t.task_id FROM tasks t
    WHERE t.seller_id = n.seller_id AND t.namespace = n.namespace AND t.ended_at IS NOT NULL
      AND t.task_id <= greatest(k.newest_old, k.removed_before - 1)
      AND t.task_id IS DISTINCT FROM k.newest_removal
      AND (t.task_id < k.removed_before
           OR (t.task_id IS DISTINCT FROM k.newest_fetch AND t.task_id IS DISTINCT FROM k.newest_current))
    ORDER BY t.task_id
    LIMIT %(limit)s
) AS o
ORDER BY n.seller_id, n.namespace, o.task_id
LIMIT %(limit)s

-- name: delete_errors
DELETE FROM offer_errors
WHERE ctid = ANY(ARRAY(
    SELECT e.ctid
    FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[]) AS n(seller_id, namespace, task_id)
    JOIN offer_errors e USING (seller_id, namespace, task_id)
    LIMIT %(limit)s))

-- name: delete_late_errors
DELETE FROM late_errors
WHERE ctid = ANY(ARRAY(
    SELECT e.ctid
    FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[]) AS n(seller_id, namespace, task_id)
    JOIN late_errors e USING (seller_id, namespace, task_id)
    LIMIT %(limit)s))

-- name: delete_chunks
DELETE FROM issue_chunks
WHERE ctid = ANY(ARRAY(
    SELECT c.ctid
    FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[]) AS n(seller_id, namespace, task_id)
    JOIN issue_chunks c USING (seller_id, namespace, task_id)
    LIMIT %(limit)s))

-- name: delete_files
DELETE FROM load_files f
USING unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[]) AS n(seller_id, namespace, task_id)
WHERE f.seller_id = n.seller_id AND f.namespace = n.namespace AND f.task_id = n.task_id

-- name: delete_batches
DELETE FROM offer_batches
WHERE ctid = ANY(ARRAY(
    SELECT b.ctid
    FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[]) AS n(seller_id, namespace, task_id)
    JOIN offer_batches b USING (seller_id, namespace, task_id)
    LIMIT %(limit)s))

-- name: delete_statistics
DELETE FROM feed_statistics s
USING unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[]) AS n(seller_id, namespace, task_id)
WHERE s.seller_id = n.seller_id AND s.namespace = n.namespace AND s.task_id = n.task_id

-- name: delete_tasks
-- An ended task is never reopened.
DELETE FROM tasks t
USING unnest(%(sellers)s::text[], %(namespaces)s::text[], %(task_ids)s::bigint[]) AS n(seller_id, namespace, task_id)
WHERE t.seller_id = n.seller_id AND t.namespace = n.namespace AND t.task_id = n.task_id AND t.ended_at IS NOT NULL
