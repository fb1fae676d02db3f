-- name: select_due
-- By version: changes are published in their order, regardless of the seller.
SELECT offer_id, version, seller_id, namespace, external_id, status, content, published_content, updated_at,
       clock_timestamp() AS composed_at, pictures
FROM offers
WHERE version > published_version AND version > %(above)s
ORDER BY version
LIMIT %(limit)s

-- name: advance
-- A row that a load or a sweep has locked is about to get a higher version and to be pushed again. Its mark need not
-- move, and skipping it avoids a deadlock with them.
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

-- name: select_traces
SELECT h.seller_id, h.namespace, h.trace_context
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[]) AS n(seller_id, namespace)
JOIN task_heads h USING (seller_id, namespace)
WHERE h.trace_context IS NOT NULL AND h.moved_at > clock_timestamp() - %(age_s)s * interval '1 second'

-- name: raise_versions
-- Raises versions above the receiver's: this table was restored, and its content is authoritative. An offer that
-- changed meanwhile already has a newer version; one that a load or a sweep has locked is about to get one.
WITH free AS (
    SELECT offer_id
    FROM offers
    WHERE offer_id = ANY(%(offer_ids)s::bigint[])
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE offers o
SET version = greatest(o.version + 1, n.stored + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
FROM unnest(%(offer_ids)s::bigint[], %(versions)s::bigint[], %(stored)s::bigint[]) AS n(offer_id, version, stored)
JOIN free USING (offer_id)
WHERE o.offer_id = n.offer_id AND o.offer_id = ANY(%(offer_ids)s::bigint[]) AND o.version = n.version

-- name: refuse_documents
INSERT INTO refused_documents (offer_id, version, reasons, refused_at)
SELECT offer_id, version, reasons, clock_timestamp()
  FROM unnest(%(offer_ids)s::bigint[], %(versions)s::bigint[], %(reasons)s::text[]) AS n (offer_id, version, reasons)
 ORDER BY offer_id
    ON CONFLICT (offer_id) DO UPDATE
   SET version = excluded.version, reasons = excluded.reasons, refused_at = excluded.refused_at

-- name: accept_documents
DELETE FROM refused_documents WHERE offer_id = ANY(%(offer_ids)s::bigint[])

-- name: count_refused
SELECT count(*) FROM refused_documents

-- name: list_refused
SELECT o.seller_id, o.namespace, o.external_id, r.version, r.reasons, r.refused_at
  FROM refused_documents r JOIN offers o USING (offer_id)
 ORDER BY r.refused_at DESC, r.offer_id
 LIMIT %(limit)s

-- name: find_unequal
-- Documents of the registry that differ: documents without an offer here that are not removed there, and documents of
-- published offers with another version. Each offer is looked up separately: LIMIT keeps the planner from reading the
-- whole table.
SELECT n.place::integer - 1 AS place, o.offer_id AS row_id, o.version, n.version AS stored_version
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(external_ids)s::text[], %(versions)s::bigint[],
            %(removed)s::boolean[])
     WITH ORDINALITY AS n (seller_id, namespace, external_id, version, is_removed, place)
LEFT JOIN LATERAL (
    SELECT f.offer_id, f.version, f.published_version
    FROM offers f
    WHERE f.seller_id = n.seller_id AND f.namespace = n.namespace AND f.external_id = n.external_id
    LIMIT 1
) AS o ON true
WHERE CASE WHEN o.offer_id IS NULL THEN NOT n.is_removed
           ELSE o.version <= o.published_version AND o.version <> n.version
                AND NOT EXISTS (SELECT FROM refused_documents r WHERE r.offer_id = o.offer_id AND r.version = o.version)
           END
ORDER BY n.place

-- name: publish_again
-- Offers that differ from their documents, unless they changed meanwhile. This table is authoritative, so a version is
-- not below the receiver's.
WITH free AS (
    SELECT offer_id
    FROM offers
    WHERE offer_id = ANY(%(offer_ids)s::bigint[])
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE offers o
SET published_version = 0,
    version = CASE WHEN o.version < n.stored
                   THEN greatest(n.stored + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
                   ELSE o.version END
FROM unnest(%(offer_ids)s::bigint[], %(versions)s::bigint[], %(stored)s::bigint[]) AS n(offer_id, version, stored)
JOIN free USING (offer_id)
WHERE o.offer_id = n.offer_id AND o.offer_id = ANY(%(offer_ids)s::bigint[]) AND o.version = n.version
