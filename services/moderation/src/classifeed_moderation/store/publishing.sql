-- The publish mark of points.

-- name: select_due
-- By version: changes are published in their order.
SELECT p.point_id, p.version, p.author_role, p.tags, p.latitude, p.longitude, p.votes_for, p.votes_against,
       s.text AS description, s.status, p.removed_at IS NOT NULL AS is_removed, p.created_at, p.updated_at,
       clock_timestamp() AS composed_at
FROM points p
JOIN subjects s ON s.subject_key = p.point_id::text
WHERE p.version > p.published_version AND p.version > %(above)s
ORDER BY p.version
LIMIT %(limit)s

-- name: advance
-- A point that a transaction has locked is about to get a higher version and to be pushed again. Its mark need not
-- move, and skipping it avoids a deadlock.
WITH free AS (
    SELECT point_id
    FROM points
    WHERE point_id = ANY (%(point_ids)s::uuid[])
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE points p
SET published_version = n.version
FROM unnest(%(point_ids)s::uuid[], %(versions)s::bigint[]) AS n (point_id, version)
JOIN free USING (point_id)
WHERE p.point_id = n.point_id AND p.published_version < n.version

-- name: raise_versions
-- Raises versions above the receiver's: this table was restored, and its content is authoritative. A point that changed
-- meanwhile already has a newer version.
WITH free AS (
    SELECT point_id
    FROM points
    WHERE point_id = ANY (%(point_ids)s::uuid[])
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE points p
SET version = greatest(p.version + 1, n.stored + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
FROM unnest(%(point_ids)s::uuid[], %(versions)s::bigint[], %(stored)s::bigint[]) AS n (point_id, version, stored)
JOIN free USING (point_id)
WHERE p.point_id = n.point_id AND p.version = n.version

-- name: reset_slice
-- Points that the search may show, or may have shown. Points without a verdict were never published.
WITH slice AS (
    SELECT p.point_id
    FROM points p
    JOIN subjects s ON s.subject_key = p.point_id::text
    WHERE p.point_id > %(after)s::uuid AND s.status <> 'PENDING'
    ORDER BY p.point_id
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF p
)
UPDATE points p SET published_version = 0 FROM slice WHERE p.point_id = slice.point_id
RETURNING p.point_id

-- name: find_unequal
-- Documents of the registry that differ: documents without a point or its text here that are not removed there, and
-- documents of published points with another version or visibility. Each point is looked up separately: LIMIT keeps the
-- planner from reading the whole table.
SELECT n.place::integer - 1 AS place, p.point_id AS row_id, p.version, n.version AS stored_version
FROM unnest(%(point_ids)s::uuid[], %(versions)s::bigint[], %(removed)s::boolean[])
     WITH ORDINALITY AS n (point_id, version, is_removed, place)
LEFT JOIN LATERAL (
    SELECT o.point_id, o.version, o.published_version, s.status = 'APPROVED' AND o.removed_at IS NULL AS is_shown
    FROM points o
    JOIN subjects s ON s.subject_key = o.point_id::text
    WHERE o.point_id = n.point_id
    LIMIT 1
) AS p ON true
WHERE CASE WHEN p.point_id IS NULL THEN NOT n.is_removed
           ELSE p.version <= p.published_version AND (p.version <> n.version OR p.is_shown = n.is_removed) END
ORDER BY n.place

-- name: publish_again
-- Points that differ from their documents, unless they changed meanwhile. This table is authoritative, so a version is
-- not below the receiver's.
WITH free AS (
    SELECT point_id
    FROM points
    WHERE point_id = ANY (%(point_ids)s::uuid[])
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE points p
SET published_version = 0,
    version = CASE WHEN p.version < n.stored
                   THEN greatest(n.stored + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
                   ELSE p.version END
FROM unnest(%(point_ids)s::uuid[], %(versions)s::bigint[], %(stored)s::bigint[]) AS n (point_id, version, stored)
JOIN free USING (point_id)
WHERE p.point_id = n.point_id AND p.version = n.version
