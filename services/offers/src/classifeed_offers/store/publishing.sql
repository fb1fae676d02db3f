-- name: select_due
-- By version: first changed, first published, whoever the seller is.
SELECT offer_id, version, seller_id, namespace, external_id, status, content, published_content, updated_at,
       clock_timestamp()
FROM offers
WHERE version > published_version AND version > %(above)s
ORDER BY version
LIMIT %(limit)s

-- name: advance
-- A row that a load or a sweep holds now is about to get a higher version and to be pushed again: its mark need not
-- move, and without waiting for it there is no deadlock with them.
WITH free AS (
    SELECT offer_id
    FROM offers
    WHERE offer_id = ANY(%(offer_ids)s::bigint[])
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE offers o
SET published_version = n.version
FROM unnest(%(offer_ids)s::bigint[], %(versions)s::bigint[]) AS n(offer_id, version)
JOIN free USING (offer_id)
WHERE o.offer_id = n.offer_id AND o.offer_id = ANY(%(offer_ids)s::bigint[]) AND o.published_version < n.version
