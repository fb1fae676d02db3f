-- Clean-up of expired rows.

-- name: delete_requests
DELETE FROM requests
WHERE request_id IN (SELECT request_id FROM requests WHERE ended_at < %(before)s LIMIT %(limit)s)

-- name: delete_kept
DELETE FROM kept_verdicts
WHERE cache_key IN (SELECT cache_key FROM kept_verdicts WHERE stored_at < %(before)s LIMIT %(limit)s)
