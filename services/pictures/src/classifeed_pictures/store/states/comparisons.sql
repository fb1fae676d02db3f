-- Comparisons of stored pictures with the URLs that offers use.

-- name: begin_comparison
INSERT INTO comparisons DEFAULT VALUES RETURNING comparison_id

-- name: supersede
-- Earlier comparisons that were not confirmed or not finished: their data is old.
UPDATE comparisons SET state = 'SUPERSEDED'
WHERE comparison_id < %(comparison_id)s AND state IN ('RUNNING', 'HELD')

-- name: drop_used
-- The used URLs of ended comparisons, and of this one if it begins again.
DELETE FROM used_urls u
USING comparisons c
WHERE c.comparison_id = u.comparison_id
  AND (c.state IN ('DONE', 'SUPERSEDED') OR c.comparison_id = %(comparison_id)s::bigint)

-- name: note_snapshot
UPDATE comparisons SET snapshot_at = %(snapshot_at)s, compared = 0, unused = 0 WHERE comparison_id = %(comparison_id)s

-- name: add_used
INSERT INTO used_urls (comparison_id, url_hash)
SELECT DISTINCT %(comparison_id)s::bigint, n.url_hash
FROM unnest(%(url_hashes)b::bytea[]) AS n (url_hash)
ORDER BY n.url_hash
ON CONFLICT DO NOTHING

-- name: compare_slice
-- The next states. `is_compared`: only offers use the picture. It excludes pictures that were put, that another client
-- requested, or that a namespace keeps without a known recipient (are_only_offers checks this again in the shard of the
-- picture). `is_unused`: no offer used it at the snapshot, and it was not requested since.
SELECT p.url_hash, p.url, c.is_compared, c.is_compared AND u.found IS NULL
       AND coalesce(p.requested_at < %(snapshot_at)s, true) AS is_unused
FROM pictures p
CROSS JOIN LATERAL (
    SELECT NOT p.is_put
           AND NOT EXISTS (SELECT FROM settled_requests r WHERE r.url_hash = p.url_hash AND r.client <> 'offers')
           AND NOT EXISTS (SELECT FROM requests_in_flight r WHERE r.url_hash = p.url_hash AND r.client <> 'offers')
           AND NOT EXISTS (
               SELECT FROM stored_pictures s
               WHERE s.url_hash = p.url_hash
                 AND NOT EXISTS (
                     SELECT FROM settled_requests r WHERE r.url_hash = s.url_hash AND r.namespace = s.namespace
                 )
                 AND NOT EXISTS (
                     SELECT FROM requests_in_flight r WHERE r.url_hash = s.url_hash AND r.namespace = s.namespace
                 )
           ) AS is_compared
) AS c
LEFT JOIN LATERAL (
    SELECT true AS found
    FROM used_urls u
    WHERE u.comparison_id = %(comparison_id)s AND u.url_hash = p.url_hash
    LIMIT 1
) AS u ON true
WHERE p.url_hash > %(after)b::bytea
ORDER BY p.url_hash
LIMIT %(limit)s

-- name: add_counts
UPDATE comparisons SET compared = compared + %(compared)s, unused = unused + %(unused)s
WHERE comparison_id = %(comparison_id)s

-- name: move_comparison
UPDATE comparisons SET state = %(state)s WHERE comparison_id = %(comparison_id)s

-- name: confirm
UPDATE comparisons SET is_confirmed = true, state = 'RUNNING'
WHERE comparison_id = %(comparison_id)s AND state = 'HELD'

-- name: find_comparison
SELECT comparison_id, state, snapshot_at, compared, unused, is_confirmed
FROM comparisons
WHERE comparison_id = %(comparison_id)s

-- name: list_comparisons
SELECT comparison_id, state, snapshot_at, compared, unused, is_confirmed
FROM comparisons
ORDER BY comparison_id DESC
LIMIT 20

-- name: delete_comparisons
DELETE FROM comparisons
WHERE comparison_id = ANY (ARRAY(
    SELECT comparison_id
    FROM comparisons
    WHERE began_at < %(before)s AND state IN ('DONE', 'SUPERSEDED')
    ORDER BY comparison_id
    LIMIT %(limit)s))
