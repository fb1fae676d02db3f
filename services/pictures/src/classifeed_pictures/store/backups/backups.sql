-- Backups of the state, and its restore. Statements with declared columns are in backups.py.

-- name: begin_snapshot
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: read_stands
SELECT "group", topic, partition, topic_id, next FROM consumer_offsets ORDER BY "group", topic, partition

-- name: find_bound
-- The last hash of a shard; no row if the rest is smaller than a shard.
SELECT url_hash FROM pictures WHERE url_hash > %(after)s ORDER BY url_hash OFFSET %(states)s - 1 LIMIT 1

-- name: stop_effects
-- Waits for running effects and blocks later ones, which then find other positions and start again.
LOCK TABLE consumer_offsets IN EXCLUSIVE MODE

-- name: empty_tables
-- In the order in which other transactions lock them. The clean-up of files locks a row of blobs until the file is
-- removed.
TRUNCATE pictures, requests_in_flight, settled_requests, stored_pictures, blobs, blob_refs, namespace_usage

-- name: empty_files
TRUNCATE blobs, blob_refs, namespace_usage

-- name: make_held
CREATE TEMPORARY TABLE IF NOT EXISTS held_pictures
    (namespace text, group_id integer, name text, url text, is_put boolean)

-- name: drop_unheld
-- Pictures whose results the states do not have yet, or that were about to be deleted. An alias stays with its key.
DELETE FROM stored_pictures s
WHERE CASE WHEN s.is_alias THEN NOT EXISTS (SELECT FROM pictures p WHERE p.url_hash = s.url_hash)
           ELSE NOT EXISTS (
               SELECT FROM held_pictures h
               WHERE h.namespace = s.namespace AND h.group_id = s.group_id AND h.name = s.name
           ) END

-- name: list_lost
SELECT DISTINCT h.url, h.is_put
FROM held_pictures h
WHERE NOT EXISTS (
    SELECT FROM stored_pictures s WHERE h.namespace = s.namespace AND h.group_id = s.group_id AND h.name = s.name
)

-- name: make_references
-- Must match StoredPicture.reference and .blobs.
WITH wanted AS (
    SELECT s.namespace || '/' || s.group_id || '/' || s.name AS ref, encode(s.content_hash, 'hex') AS sha256
    FROM stored_pictures s
    UNION
    SELECT s.namespace || '/' || s.group_id || '/' || s.name, piece->>'blob'
    FROM stored_pictures s, jsonb_array_elements(s.pieces) AS piece
), files AS (
    INSERT INTO blobs (sha256, ref_count, touched_at)
    SELECT sha256, count(*), clock_timestamp() FROM wanted GROUP BY sha256
)
INSERT INTO blob_refs (ref, sha256) SELECT ref, sha256 FROM wanted

-- name: count_usage
INSERT INTO namespace_usage (namespace, slot, pictures, bytes)
SELECT namespace, group_id %% %(slots)s, count(*), sum(total_bytes) FROM stored_pictures WHERE NOT is_alias GROUP BY 1, 2

-- name: set_stands
INSERT INTO consumer_offsets ("group", topic, partition, topic_id, next)
SELECT "group", topic, partition, topic_id, next
FROM unnest(%(groups)s::text[], %(topics)s::text[], %(partitions)s::integer[], %(topic_ids)s::text[],
            %(nexts)s::bigint[]) AS p("group", topic, partition, topic_id, next)
ON CONFLICT ("group", topic, partition) DO UPDATE
SET topic_id = EXCLUDED.topic_id, next = EXCLUDED.next, updated_at = clock_timestamp()

-- name: raise_stands
-- For groups whose events are not applied again: they keep their positions unless these were lost.
INSERT INTO consumer_offsets AS o ("group", topic, partition, topic_id, next)
SELECT "group", topic, partition, topic_id, next
FROM unnest(%(groups)s::text[], %(topics)s::text[], %(partitions)s::integer[], %(topic_ids)s::text[],
            %(nexts)s::bigint[]) AS p("group", topic, partition, topic_id, next)
ON CONFLICT ("group", topic, partition) DO UPDATE
SET topic_id = EXCLUDED.topic_id, next = EXCLUDED.next, updated_at = clock_timestamp()
WHERE o.topic_id <> EXCLUDED.topic_id OR o.next < EXCLUDED.next

-- name: analyze
ANALYZE pictures, requests_in_flight, settled_requests, stored_pictures, blobs, blob_refs

-- name: drop_held
DROP TABLE held_pictures
