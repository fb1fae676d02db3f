-- Requests that a picture has settled.

-- name: add_settled
-- In the order of their keys, so that no two writers wait for one another. The same request again is the same row.
INSERT INTO settled_requests (url_hash, request_hash, namespace, recipient, reference, requested_url)
SELECT n.url_hash, n.request_hash, n.namespace, n.recipient, n.reference, n.requested_url
FROM unnest(%(url_hashes)b::bytea[], %(request_hashes)b::bytea[], %(namespaces)b::text[], %(recipients)b::text[],
            %(references)b::text[], %(requested_urls)b::text[])
     AS n (url_hash, request_hash, namespace, recipient, reference, requested_url)
ORDER BY n.url_hash, n.request_hash
ON CONFLICT (url_hash, request_hash) DO NOTHING

-- name: list_settled
SELECT r.url_hash, r.namespace, r.recipient, r.reference, r.requested_url
FROM unnest(%(url_hashes)b::bytea[], %(namespaces)b::text[]) AS s (url_hash, namespace)
JOIN settled_requests r ON r.url_hash = s.url_hash AND r.namespace = s.namespace

-- name: forget_settled_namespaces
DELETE FROM settled_requests r
USING unnest(%(url_hashes)b::bytea[], %(namespaces)b::text[]) AS f (url_hash, namespace)
WHERE r.url_hash = f.url_hash AND r.namespace = f.namespace

-- name: forget_all_settled
DELETE FROM settled_requests WHERE url_hash = ANY (%(url_hashes)b::bytea[])

-- name: move_settled
-- In the order of their keys, too.
WITH moved AS (
    DELETE FROM settled_requests r
    USING unnest(%(url_hashes)b::bytea[], %(moved_to)b::bytea[]) AS m (url_hash, moved_to)
    WHERE r.url_hash = m.url_hash
    RETURNING m.moved_to, r.request_hash, r.namespace, r.recipient, r.reference, r.requested_url
)
INSERT INTO settled_requests (url_hash, request_hash, namespace, recipient, reference, requested_url)
SELECT moved_to, request_hash, namespace, recipient, reference, requested_url
FROM moved
ORDER BY moved_to, request_hash
ON CONFLICT (url_hash, request_hash) DO NOTHING
