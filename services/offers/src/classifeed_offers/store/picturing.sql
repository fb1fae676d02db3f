-- Results about pictures of offers. A transaction that requests pictures or applies results holds the namespaces'
-- heads.

-- name: load_pictures
-- Includes removed offers: they await nothing any more. Each lookup is by the whole key, as for texts (judging.sql).
SELECT o.offer_id, n.external_id, o.status, o.last_task_id, o.last_ordinal, o.last_line, o.pictures,
       CASE WHEN o.pictures_requested_at = '-infinity' THEN o.content END AS changed_content,
       coalesce(o.pictures_requested_at < clock_timestamp() - %(wait_s)s * interval '1 second', false) AS is_due
FROM unnest(%(external_ids)s::text[]) AS n (external_id)
CROSS JOIN LATERAL (
    SELECT b.offer_id, b.status, b.last_task_id, b.last_ordinal, b.last_line, b.pictures, b.pictures_requested_at,
           b.content
    FROM offers b
    WHERE b.seller_id = %(seller)s AND b.namespace = %(namespace)s AND b.external_id = n.external_id
    LIMIT 1
) AS o

-- name: save_results
-- An offer with changed links stays due, so that the new links are requested first. A new version changes the document.
UPDATE offers o
SET pictures = n.pictures, picture_faults = n.picture_faults,
    pictures_requested_at = CASE WHEN n.awaits_pictures OR o.pictures_requested_at = '-infinity'
                                 THEN o.pictures_requested_at END,
    version = CASE WHEN n.is_shown
                   THEN greatest(o.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
                   ELSE o.version END
FROM unnest(%(offer_ids)s::bigint[], %(pictures)b::bytea[], %(picture_faults)b::bytea[], %(await_pictures)s::boolean[],
            %(are_shown)s::boolean[])
     AS n (offer_id, pictures, picture_faults, awaits_pictures, is_shown)
WHERE o.offer_id = n.offer_id

-- name: find_awaited
-- Offers that have waited too long for a result, the oldest requests first. statement_timestamp() is constant within a
-- statement, so that the index scan can end at the first later request.
SELECT seller_id, namespace, external_id
FROM offers
WHERE pictures_requested_at < statement_timestamp() - %(wait_s)s * interval '1 second'
ORDER BY pictures_requested_at
LIMIT %(limit)s

-- name: save_requests
UPDATE offers o
SET pictures = n.pictures, picture_faults = n.picture_faults,
    pictures_requested_at = CASE WHEN n.awaits_pictures THEN clock_timestamp() END
FROM unnest(%(offer_ids)s::bigint[], %(pictures)b::bytea[], %(picture_faults)b::bytea[], %(await_pictures)s::boolean[])
     AS n (offer_id, pictures, picture_faults, awaits_pictures)
WHERE o.offer_id = n.offer_id

-- name: count_awaited
SELECT count(*) FROM offers WHERE pictures_requested_at IS NOT NULL

-- name: next_offers
-- Reads all offers in the order of their keys, so that a slice ends after `limit` rows regardless of their pictures.
SELECT external_id, offer_id, last_task_id, last_ordinal, last_line,
       CASE WHEN pictures IS NULL AND pictures_requested_at IS NULL AND status <> 'REMOVED' THEN content END,
       CASE WHEN %(again)s AND status <> 'REMOVED' THEN pictures END
FROM offers
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND external_id > %(after)s
ORDER BY external_id
LIMIT %(limit)s

-- name: next_namespaces
SELECT seller_id, namespace
FROM task_heads
WHERE (seller_id, namespace) > (%(seller_id)s, %(namespace)s) AND (%(only_seller)s::text IS NULL OR seller_id = %(only_seller)s)
ORDER BY seller_id, namespace
LIMIT %(limit)s
