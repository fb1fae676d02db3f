-- Stored pictures by address.

-- name: find_stored
SELECT namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes, info, pieces, is_alias
FROM stored_pictures
WHERE namespace = %(namespace)s AND group_id = %(group_id)s AND name = %(name)s

-- name: lock_stored
SELECT namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes, info, pieces, is_alias
FROM stored_pictures
WHERE namespace = %(namespace)s AND group_id = %(group_id)s AND name = %(name)s
FOR UPDATE

-- name: put_stored
-- If the same bytes of the same URL are stored again, the row keeps the highest attempt. An address that had become an
-- alias of another key belongs to its own key again.
INSERT INTO stored_pictures (namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes, info,
                             pieces, similarity_key)
VALUES (%(namespace)s, %(group_id)s, %(name)s, %(url_hash)s, %(attempt)s, %(content_hash)s, %(size_bytes)s,
        %(total_bytes)s, %(info)s, %(pieces)s, %(similarity_key)s)
ON CONFLICT (namespace, group_id, name) DO UPDATE
SET attempt = greatest(stored_pictures.attempt, EXCLUDED.attempt), info = EXCLUDED.info, pieces = EXCLUDED.pieces,
    total_bytes = EXCLUDED.total_bytes, url_hash = EXCLUDED.url_hash, is_alias = false,
    similarity_key = EXCLUDED.similarity_key, stored_at = clock_timestamp()

-- name: delete_stored
-- An alias belongs to another key.
DELETE FROM stored_pictures
WHERE namespace = %(namespace)s AND group_id = %(group_id)s AND name = %(name)s AND NOT is_alias
  AND attempt <= %(attempt)s
RETURNING total_bytes

-- name: lock_kept
-- The pictures of a key in a namespace, without aliases. There may briefly be several rows with different bytes.
SELECT true
FROM stored_pictures
WHERE url_hash = %(url_hash)s AND namespace = %(namespace)s AND NOT is_alias
FOR UPDATE

-- name: move_stored
-- The address stays with the same files, as an alias of another key's picture; no quota counts it.
UPDATE stored_pictures
SET url_hash = %(moved_to)s, is_alias = true
WHERE namespace = %(namespace)s AND group_id = %(group_id)s AND name = %(name)s AND attempt <= %(attempt)s
  AND NOT is_alias
RETURNING total_bytes

-- name: move_aliases
UPDATE stored_pictures SET url_hash = %(moved_to)s
WHERE url_hash = %(url_hash)s AND namespace = %(namespace)s AND is_alias

-- name: delete_aliases
DELETE FROM stored_pictures
WHERE url_hash = %(url_hash)s AND namespace = %(namespace)s AND is_alias
RETURNING group_id, name
