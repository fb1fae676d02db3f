-- Namespaces and their usage.

-- name: put_namespace
INSERT INTO namespaces (name, sizes, formats, quota_bytes)
VALUES (%(name)s, %(sizes)s, %(formats)s, %(quota_bytes)s)
ON CONFLICT (name) DO UPDATE
SET sizes = EXCLUDED.sizes, formats = EXCLUDED.formats, quota_bytes = EXCLUDED.quota_bytes,
    changed_at = clock_timestamp()

-- name: find_namespace
SELECT name, sizes, formats, quota_bytes FROM namespaces WHERE name = %(name)s

-- name: list_namespaces
SELECT n.name, n.sizes, n.formats, n.quota_bytes, coalesce(u.pictures, 0)::bigint AS pictures,
       coalesce(u.bytes, 0)::bigint AS bytes
FROM namespaces n
LEFT JOIN (
    SELECT namespace, sum(pictures) AS pictures, sum(bytes) AS bytes FROM namespace_usage GROUP BY namespace
) u ON u.namespace = n.name
ORDER BY n.name

-- name: read_usage
SELECT coalesce(sum(pictures), 0)::bigint, coalesce(sum(bytes), 0)::bigint
FROM namespace_usage
WHERE namespace = %(namespace)s

-- name: add_usage
INSERT INTO namespace_usage (namespace, slot, pictures, bytes)
VALUES (%(namespace)s, %(slot)s, %(pictures)s, %(bytes)s)
ON CONFLICT (namespace, slot) DO UPDATE
SET pictures = namespace_usage.pictures + EXCLUDED.pictures, bytes = namespace_usage.bytes + EXCLUDED.bytes
