-- Stored pictures: what an address leads to.

-- name: find_stored
SELECT namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes, info, pieces
FROM stored_pictures
WHERE namespace = %(namespace)s AND group_id = %(group_id)s AND name = %(name)s

-- name: lock_stored
SELECT namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes, info, pieces
FROM stored_pictures
WHERE namespace = %(namespace)s AND group_id = %(group_id)s AND name = %(name)s
FOR UPDATE

-- name: put_stored
-- The same bytes of the same URL once more: what is there stays, under the highest attempt, with all its versions.
INSERT INTO stored_pictures (namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes, info,
                             pieces)
VALUES (%(namespace)s, %(group_id)s, %(name)s, %(url_hash)s, %(attempt)s, %(content_hash)s, %(size_bytes)s,
        %(total_bytes)s, %(info)s, %(pieces)s)
ON CONFLICT (namespace, group_id, name) DO UPDATE
SET attempt = greatest(stored_pictures.attempt, EXCLUDED.attempt), info = EXCLUDED.info, pieces = EXCLUDED.pieces,
    total_bytes = EXCLUDED.total_bytes, stored_at = clock_timestamp()

-- name: delete_stored
DELETE FROM stored_pictures
WHERE namespace = %(namespace)s AND group_id = %(group_id)s AND name = %(name)s AND attempt <= %(attempt)s
RETURNING total_bytes
