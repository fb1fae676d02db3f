-- Pictures whose files are damaged.

-- name: find_users
-- A reference of a stored picture is <namespace>/<group>/<name>.
SELECT DISTINCT p.url, p.is_put
FROM blob_refs r
JOIN stored_pictures s ON s.namespace = split_part(r.ref, '/', 1) AND s.group_id = split_part(r.ref, '/', 2)::integer
     AND s.name = split_part(r.ref, '/', 3)
JOIN pictures p ON p.url_hash = s.url_hash
WHERE r.sha256 = ANY (%(sha256s)s::text[])
