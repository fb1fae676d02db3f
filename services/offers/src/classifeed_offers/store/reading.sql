-- name: get_offer
SELECT external_id, status, origin, content, published_content, last_task_id, version, published_version, moderation,
       created_at, updated_at, last_change
FROM offers
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND external_id = %(external_id)s

-- name: list_offers
SELECT external_id, status, origin, content, published_content, last_task_id, version, published_version, moderation,
       created_at, updated_at, last_change
FROM offers
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND external_id > %(after)s
  AND CASE WHEN %(status)s::text IS NULL THEN status <> 'REMOVED' ELSE status = %(status)s END
ORDER BY external_id
LIMIT %(limit)s
