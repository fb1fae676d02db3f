-- name: get_offer
SELECT o.external_id, o.status, o.origin, o.content, o.published_content, o.last_task_id, o.version, o.published_version,
       o.moderation, o.created_at, o.updated_at, o.last_change, o.ban,
       CASE WHEN o.text_requested_at = '-infinity' THEN o.updated_at ELSE o.text_requested_at END AS text_requested_at,
       o.pictures, w.task_id AS waiting_task_id, w.content AS waiting_content
FROM offers o
LEFT JOIN LATERAL (
    SELECT w.task_id, w.content
    FROM waiting_changes w
    JOIN task_heads h USING (seller_id, namespace, task_id, run)
    LEFT JOIN task_ends e USING (seller_id, namespace, task_id, run)
    WHERE w.seller_id = o.seller_id AND w.namespace = o.namespace AND w.offer_id = o.offer_id
      AND coalesce(e.outcome, 'HELD') = 'HELD'
) AS w ON true
WHERE o.seller_id = %(seller)s AND o.namespace = %(namespace)s AND o.external_id = %(external_id)s

-- name: list_offers
SELECT external_id, status, origin, content, published_content, last_task_id, version, published_version, moderation,
       created_at, updated_at, last_change, ban,
       CASE WHEN text_requested_at = '-infinity' THEN updated_at ELSE text_requested_at END AS text_requested_at, pictures
FROM offers
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND external_id > %(after)s
  AND CASE WHEN %(status)s::text IS NULL THEN status <> 'REMOVED' ELSE status = %(status)s END
ORDER BY external_id
LIMIT %(limit)s

-- name: next_pictures
-- In the order of offer ids, which never change; null for an offer without pictures.
SELECT offer_id, CASE WHEN status <> 'REMOVED' THEN pictures END
FROM offers
WHERE offer_id > %(after)s
ORDER BY offer_id
LIMIT %(limit)s

-- name: current_time
SELECT clock_timestamp()
