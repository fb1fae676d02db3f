-- Requests that a picture has settled.

-- name: add_settled
-- In the order of their keys, so that no two writers deadlock. A repeated request is the same row, and is updated only
-- if the row has no client yet.
WITH new AS (
    SELECT n.url_hash, n.request_hash, n.namespace, n.recipient, n.reference, n.requested_url, n.client
    FROM unnest(%(url_hashes)b::bytea[], %(request_hashes)b::bytea[], %(namespaces)b::text[], %(recipients)b::text[],
                %(references)b::text[], %(requested_urls)b::text[], %(clients)b::text[])
         AS n (url_hash, request_hash, namespace, recipient, reference, requested_url, client)
), named AS (
    UPDATE settled_requests r
    SET client = n.client
    FROM new n
    WHERE r.url_hash = n.url_hash AND r.request_hash = n.request_hash AND r.client = '' AND n.client <> ''
)
INSERT INTO settled_requests (url_hash, request_hash, namespace, recipient, reference, requested_url, client)
SELECT url_hash, request_hash, namespace, recipient, reference, requested_url, client
FROM new
ORDER BY url_hash, request_hash
ON CONFLICT (url_hash, request_hash) DO NOTHING

-- name: list_settled
SELECT r.url_hash, r.namespace, r.recipient, r.reference, r.requested_url, r.client
FROM unnest(%(url_hashes)b::bytea[], %(namespaces)b::text[]) AS s (url_hash, namespace)
JOIN settled_requests r ON r.url_hash = s.url_hash AND r.namespace = s.namespace

-- name: list_recipients
-- Recipients of settled and of waiting requests, each once for any number of references.
SELECT url_hash, namespace, recipient, client
FROM settled_requests
WHERE url_hash = ANY (%(url_hashes)b::bytea[])
UNION
SELECT url_hash, namespace, recipient, client
FROM requests_in_flight
WHERE url_hash = ANY (%(url_hashes)b::bytea[]) AND recipient <> %(nobody)s

-- name: end_given_up
DELETE FROM settled_requests r
USING unnest(%(url_hashes)b::bytea[], %(namespaces)b::text[], %(recipients)b::text[])
      AS g (url_hash, namespace, recipient)
WHERE r.url_hash = g.url_hash AND r.namespace = g.namespace AND r.recipient = g.recipient
RETURNING r.url_hash, r.namespace, r.recipient, r.reference, r.requested_url, r.client

-- name: forget_settled_namespaces
DELETE FROM settled_requests r
USING unnest(%(url_hashes)b::bytea[], %(namespaces)b::text[]) AS f (url_hash, namespace)
WHERE r.url_hash = f.url_hash AND r.namespace = f.namespace

-- name: forget_all_settled
DELETE FROM settled_requests WHERE url_hash = ANY (%(url_hashes)b::bytea[])

-- name: move_settled
-- In the order of their keys, as above.
WITH moved AS (
    DELETE FROM settled_requests r
    USING unnest(%(url_hashes)b::bytea[], %(moved_to)b::bytea[]) AS m (url_hash, moved_to)
    WHERE r.url_hash = m.url_hash
    RETURNING m.moved_to, r.request_hash, r.namespace, r.recipient, r.reference, r.requested_url, r.client
)
INSERT INTO settled_requests (url_hash, request_hash, namespace, recipient, reference, requested_url, client)
SELECT moved_to, request_hash, namespace, recipient, reference, requested_url, client
FROM moved
ORDER BY moved_to, request_hash
ON CONFLICT (url_hash, request_hash) DO NOTHING
