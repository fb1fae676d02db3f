-- States of pictures, each changed by the consumer of its URL's partition.

-- name: get_now
SELECT clock_timestamp()

-- name: forbid_scans
-- For this transaction: rows are found by the hash of their URL, even if the planner would prefer a scan.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true)

-- name: list_states
SELECT url_hash, url, is_put, revision, attempt, attempt_at, next_attempt_at, failed_attempts, failure, retry_at,
       delete_mark_at, requested_at, refresh_at, holdings
FROM pictures
WHERE url_hash = ANY (%(url_hashes)b::bytea[])

-- name: insert_states
-- In the order of their hashes. An existing row is not counted: its writer must read it first.
INSERT INTO pictures (url_hash, url, is_put, attempt, attempt_at, next_attempt_at, failed_attempts, failure, retry_at,
                      delete_mark_at, requested_at, refresh_at, holdings)
SELECT n.url_hash, n.url, n.is_put, n.attempt, n.attempt_at, n.next_attempt_at, n.failed_attempts, n.failure, n.retry_at,
       n.delete_mark_at, n.requested_at, n.refresh_at, n.holdings
FROM unnest(%(url_hashes)b::bytea[], %(urls)b::text[], %(are_put)b::boolean[], %(attempts)b::bigint[],
            %(attempts_at)b::timestamptz[], %(next_attempts_at)b::timestamptz[], %(failed_attempts)b::integer[],
            %(failures)b::bytea[], %(retries_at)b::timestamptz[], %(delete_marks_at)b::timestamptz[],
            %(requests_at)b::timestamptz[], %(refreshes_at)b::timestamptz[], %(holdings)b::bytea[])
     AS n (url_hash, url, is_put, attempt, attempt_at, next_attempt_at, failed_attempts, failure, retry_at,
           delete_mark_at, requested_at, refresh_at, holdings)
ORDER BY n.url_hash
ON CONFLICT (url_hash) DO NOTHING

-- name: lock_revisions
-- In the order of their hashes, so that no two writers deadlock.
SELECT url_hash, revision
FROM pictures
WHERE url_hash = ANY (%(url_hashes)b::bytea[])
ORDER BY url_hash
FOR NO KEY UPDATE

-- name: update_states
UPDATE pictures p
SET is_put = n.is_put, revision = p.revision + 1, attempt = n.attempt, attempt_at = n.attempt_at,
    next_attempt_at = n.next_attempt_at, failed_attempts = n.failed_attempts, failure = n.failure,
    retry_at = n.retry_at, delete_mark_at = n.delete_mark_at, requested_at = n.requested_at,
    refresh_at = n.refresh_at, holdings = n.holdings
FROM unnest(%(url_hashes)b::bytea[], %(are_put)b::boolean[], %(attempts)b::bigint[], %(attempts_at)b::timestamptz[],
            %(next_attempts_at)b::timestamptz[], %(failed_attempts)b::integer[], %(failures)b::bytea[],
            %(retries_at)b::timestamptz[], %(delete_marks_at)b::timestamptz[], %(requests_at)b::timestamptz[],
            %(refreshes_at)b::timestamptz[], %(holdings)b::bytea[])
     AS n (url_hash, is_put, attempt, attempt_at, next_attempt_at, failed_attempts, failure, retry_at, delete_mark_at,
           requested_at, refresh_at, holdings)
WHERE p.url_hash = n.url_hash

-- name: delete_states
DELETE FROM pictures WHERE url_hash = ANY (%(url_hashes)b::bytea[])

-- name: list_keys
SELECT url_hash, url FROM pictures WHERE url_hash > %(after)b::bytea ORDER BY url_hash LIMIT %(limit)s

-- name: list_due
-- Due states, longest due first. Compared as rows, so that the order comes from the index.
SELECT next_attempt_at, url_hash, url
FROM pictures
WHERE (next_attempt_at, url_hash) > (%(after_at)s, %(after_hash)b::bytea) AND next_attempt_at <= statement_timestamp()
ORDER BY next_attempt_at, url_hash
LIMIT %(limit)s
