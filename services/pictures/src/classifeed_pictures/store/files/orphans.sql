-- Stored pictures that no state holds.

-- name: list_after
-- All rows are checked in the order of their keys, so that a slice has the same number of rows whether or not it finds
-- orphans. An alias is deleted with the picture of its key; no state names it.
SELECT s.namespace, s.group_id, s.name, s.url_hash, s.attempt,
       s.stored_at < statement_timestamp() - %(grace_s)s * interval '1 second' AS is_old
FROM stored_pictures s
WHERE (s.namespace, s.group_id, s.name) > (%(namespace)s, %(group_id)s, %(name)s) AND NOT s.is_alias
ORDER BY s.namespace, s.group_id, s.name
LIMIT %(limit)s

-- name: share_states
-- Locked against changes until the transaction ends, in the order of their hashes, as writers lock them.
SELECT url_hash, holdings
FROM pictures
WHERE url_hash = ANY (%(url_hashes)b::bytea[])
ORDER BY url_hash
FOR SHARE

-- name: lock_orphans
-- Unchanged rows only; those that a download or a copy has locked are left for the next pass.
SELECT s.namespace, s.group_id, s.name, s.attempt
FROM unnest(%(namespaces)s::text[], %(group_ids)s::integer[], %(names)s::text[], %(attempts)s::bigint[])
     AS o (namespace, group_id, name, attempt)
JOIN stored_pictures s ON s.namespace = o.namespace AND s.group_id = o.group_id AND s.name = o.name
     AND s.attempt = o.attempt AND s.stored_at < statement_timestamp() - %(grace_s)s * interval '1 second'
ORDER BY s.namespace, s.group_id, s.name
FOR UPDATE OF s SKIP LOCKED
