-- name: select_due
-- By version: first changed, first published, whoever the seller is.
SELECT offer_id, version, seller_id, namespace, external_id, status, content, published_content, updated_at,
       clock_timestamp()
FROM offers
WHERE version > published_version
ORDER BY version
LIMIT %(limit)s

-- name: advance
UPDATE offers o
SET published_version = n.version
FROM unnest(%(offer_ids)s::bigint[], %(versions)s::bigint[]) AS n(offer_id, version)
WHERE o.offer_id = n.offer_id AND o.published_version < n.version
