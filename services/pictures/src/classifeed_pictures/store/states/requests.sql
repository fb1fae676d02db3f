-- Requests that wait for a picture.

-- name: take_stored
-- The namespace has the picture, so its requests are settled and removed.
DELETE FROM requests_in_flight r
USING unnest(%(url_hashes)b::bytea[], %(namespaces)b::text[]) AS s (url_hash, namespace)
WHERE r.url_hash = s.url_hash AND r.namespace = s.namespace
RETURNING r.url_hash, r.namespace, r.recipient, r.reference, r.requested_url, r.requested_at, r.client

-- name: report_failed
-- A lasting failure is reported once per request, which keeps waiting. The condition is <= 0, since = 0 would let the
-- plan use the index by age, which has the requests of all pictures.
UPDATE requests_in_flight r
SET reported_attempt = f.attempt
FROM unnest(%(url_hashes)b::bytea[], %(namespaces)b::text[], %(attempts)b::bigint[]) AS f (url_hash, namespace, attempt)
WHERE r.url_hash = f.url_hash AND r.namespace = f.namespace AND r.reported_attempt <= 0
RETURNING r.url_hash, r.namespace, r.recipient, r.reference, r.requested_url, r.requested_at, r.client

-- name: forget_namespaces
DELETE FROM requests_in_flight r
USING unnest(%(url_hashes)b::bytea[], %(namespaces)b::text[]) AS f (url_hash, namespace)
WHERE r.url_hash = f.url_hash AND r.namespace = f.namespace

-- name: forget_all
DELETE FROM requests_in_flight WHERE url_hash = ANY (%(url_hashes)b::bytea[])

-- name: remember
-- A repeated request is the same row, which keeps its reported attempt.
INSERT INTO requests_in_flight (url_hash, namespace, recipient, reference, requested_url, requested_at, reported_attempt,
                                client)
SELECT n.url_hash, n.namespace, n.recipient, n.reference, n.requested_url, n.requested_at, n.reported_attempt, n.client
FROM unnest(%(url_hashes)b::bytea[], %(namespaces)b::text[], %(recipients)b::text[], %(references)b::text[],
            %(requested_urls)b::text[], %(requests_at)b::timestamptz[], %(reported_attempts)b::bigint[],
            %(clients)b::text[])
     AS n (url_hash, namespace, recipient, reference, requested_url, requested_at, reported_attempt, client)
ORDER BY n.url_hash, n.namespace, n.recipient, n.reference
ON CONFLICT (url_hash, namespace, recipient, reference) DO UPDATE
SET requested_url = EXCLUDED.requested_url, client = EXCLUDED.client,
    requested_at = least(requests_in_flight.requested_at, EXCLUDED.requested_at),
    reported_attempt = greatest(requests_in_flight.reported_attempt, EXCLUDED.reported_attempt)

-- name: end_given_up
DELETE FROM requests_in_flight r
USING unnest(%(url_hashes)b::bytea[], %(namespaces)b::text[], %(recipients)b::text[])
      AS g (url_hash, namespace, recipient)
WHERE r.url_hash = g.url_hash AND r.namespace = g.namespace AND r.recipient = g.recipient
RETURNING r.url_hash, r.namespace, r.recipient, r.reference, r.requested_url, r.requested_at, r.client

-- name: take_all
DELETE FROM requests_in_flight
WHERE url_hash = ANY (%(url_hashes)b::bytea[])
RETURNING url_hash, namespace, recipient, reference, requested_url, requested_at, client

-- name: count_in_flight
SELECT url_hash, count(*)::integer AS requests
FROM requests_in_flight
WHERE url_hash = ANY (%(url_hashes)b::bytea[])
GROUP BY url_hash

-- name: list_recipients
-- The recipient that has waited longest for each picture, among those that get results.
SELECT DISTINCT ON (url_hash) url_hash, recipient
FROM requests_in_flight
WHERE url_hash = ANY (%(url_hashes)b::bytea[]) AND recipient <> %(nobody)s
ORDER BY url_hash, requested_at

-- name: read_oldest
-- Seconds for which the oldest request waits for its first result; null if none waits.
SELECT extract(epoch FROM clock_timestamp() - min(requested_at))::float8 FROM requests_in_flight WHERE reported_attempt = 0

-- name: delete_reported
-- Old requests whose picture failed.
DELETE FROM requests_in_flight
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM requests_in_flight
    WHERE reported_attempt > 0 AND requested_at < %(before)s
    ORDER BY requested_at
    LIMIT %(limit)s))
