-- Clean-up of expired rows: records of superseded tasks, and removed offers.

-- name: delete_batches
-- The head's task may still be open, and its batches may be requested again. A request of an earlier task is always
-- STALE, so its records are not needed.
DELETE FROM applied_batches
WHERE ctid = ANY(ARRAY(
    SELECT b.ctid
    FROM applied_batches b
    JOIN task_heads h USING (seller_id, namespace)
    WHERE b.applied_at < %(before)s AND b.task_id < h.task_id
    ORDER BY b.applied_at
    LIMIT %(limit)s))

-- name: delete_ends
DELETE FROM task_ends
WHERE ctid = ANY(ARRAY(
    SELECT e.ctid
    FROM task_ends e
    JOIN task_heads h USING (seller_id, namespace)
    WHERE e.received_at < %(before)s AND e.task_id < h.task_id AND e.outcome IS NOT NULL
    ORDER BY e.received_at
    LIMIT %(limit)s))

-- name: delete_waiting
-- Changes that wait for runs that have ended or were superseded.
DELETE FROM waiting_changes
WHERE ctid = ANY(ARRAY(
    SELECT w.ctid
    FROM waiting_changes w
    JOIN task_heads h USING (seller_id, namespace)
    LEFT JOIN task_ends e ON (e.seller_id, e.namespace, e.task_id, e.run) = (w.seller_id, w.namespace, w.task_id, w.run)
    WHERE (w.task_id, w.run) <> (h.task_id, h.run) OR e.outcome IN ('COMPLETED', 'INCOMPLETE', 'STALE')
    LIMIT %(limit)s))

-- name: delete_sizes
DELETE FROM namespace_sizes
WHERE ctid = ANY(ARRAY(SELECT ctid FROM namespace_sizes WHERE day < %(before)s::date ORDER BY day LIMIT %(limit)s))

-- name: find_removed
-- One namespace at a time: the one with the oldest removed offer.
SELECT seller_id, namespace
FROM offers
WHERE status = 'REMOVED' AND updated_at < %(before)s AND published_version >= version
ORDER BY updated_at
LIMIT 1

-- name: delete_removed
-- The caller holds the head, so no load brings an offer back meanwhile. Published means that the index has the removal.
DELETE FROM offers
WHERE ctid = ANY(ARRAY(
    SELECT o.ctid
    FROM offers o
    WHERE o.seller_id = %(seller)s AND o.namespace = %(namespace)s AND o.status = 'REMOVED' AND o.updated_at < %(before)s
      AND o.published_version >= o.version
    ORDER BY o.updated_at
    LIMIT %(limit)s))
