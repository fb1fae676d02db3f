-- A running fetch: each statement runs in a transaction that the claim of its job guards. A transaction that locks both
-- locks the source before the fetch, as the schedule does.

-- name: lock_source
SELECT feed_loader_task_id, feed_version, status, url, sealed_credentials, mode, disposition, format, default_currency,
       etag, last_modified, last_hash, last_bytes
FROM feed_loader_task
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s
FOR NO KEY UPDATE

-- name: find_fetch
SELECT feed_version, forced, ended_at IS NOT NULL, http_status, bytes, sha256
FROM feed_fetches
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND feed_loader_result_id = %(fetch_id)s

-- name: begin_fetch
UPDATE feed_fetches
SET outcome = %(running)s, message = '', started_at = coalesce(started_at, clock_timestamp())
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND feed_loader_result_id = %(fetch_id)s

-- name: note_wait
UPDATE feed_fetches
SET outcome = %(queued)s, message = %(message)s
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND feed_loader_result_id = %(fetch_id)s

-- name: note_file
UPDATE feed_fetches
SET sha256 = %(sha256)s, bytes = %(size_bytes)s, http_status = %(http_status)s, final_url = %(final_url)s,
    etag = %(etag)s, last_modified = %(last_modified)s, downloaded_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND feed_loader_result_id = %(fetch_id)s

-- name: end_fetch
UPDATE feed_fetches
SET outcome = %(outcome)s, code = %(code)s, message = %(message)s, task = %(task)s,
    http_status = coalesce(%(http_status)s, http_status), bytes = coalesce(%(size_bytes)s, bytes),
    ended_at = clock_timestamp()
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND feed_loader_result_id = %(fetch_id)s

-- name: note_success
-- A fetch that completes after a newer one does not change its source.
UPDATE feed_loader_task t
SET etag = f.etag, last_modified = f.last_modified, last_hash = f.sha256, last_bytes = f.bytes,
    last_result_id = f.feed_loader_result_id, last_fetched_at = f.downloaded_at, failures = 0,
    next_due_at = CASE WHEN t.next_due_at IS NOT NULL THEN least(t.next_due_at, clock_timestamp()
        + greatest(t.interval_s * (0.9 + 0.2 * random()), %(min_interval_s)s) * interval '1 second') END
FROM feed_fetches f
WHERE f.seller_id = %(seller_id)s AND f.namespace = %(namespace)s AND f.feed_loader_result_id = %(fetch_id)s
  AND t.seller_id = f.seller_id AND t.namespace = f.namespace AND t.last_result_id < f.feed_loader_result_id

-- name: note_failure
-- The jitter only lengthens the wait, so the next request is never earlier than the site allows.
UPDATE feed_loader_task
SET failures = failures + 1,
    next_due_at = CASE WHEN next_due_at IS NOT NULL THEN clock_timestamp()
        + greatest(interval_s, %(min_interval_s)s,
                   least(greatest(2.0 ^ least(failures + 1, 30) * %(backoff_base_s)s, %(retry_after_s)s), 86400))
          * (1 + 0.1 * random()) * interval '1 second' END
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s

-- name: make_due
-- Null stays null: a source that is not scheduled does not become due.
UPDATE feed_loader_task SET next_due_at = least(next_due_at, clock_timestamp())
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND next_due_at IS NOT NULL

-- name: list_old
-- Ended fetches of a namespace beyond the newest ones, except the one whose file the next conditional request may
-- confirm. The clean-up removes fetches that created a task, after their task.
SELECT f.feed_loader_result_id
FROM feed_fetches f
WHERE f.seller_id = %(seller_id)s AND f.namespace = %(namespace)s AND f.ended_at IS NOT NULL
  AND f.outcome <> %(loaded)s
  AND f.feed_loader_result_id <> (SELECT t.last_result_id FROM feed_loader_task t
                                  WHERE t.seller_id = %(seller_id)s AND t.namespace = %(namespace)s)
ORDER BY f.feed_loader_result_id DESC
OFFSET %(kept)s LIMIT %(limit)s

-- name: delete_fetch
DELETE FROM feed_fetches
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND feed_loader_result_id = %(fetch_id)s
