-- Verdicts on their way to their receivers.

-- name: add_callback
INSERT INTO callbacks (service, environment, key, verdicts, reviewers)
VALUES (%(service)s, %(environment)s, %(key)s, %(verdicts)s::text[], %(reviewers)s::text[])
RETURNING callback_id

-- name: list_up_to
-- A callback that is not delivered yet, and the older ones of its key.
SELECT c.callback_id, c.service, c.environment, c.key, c.verdicts, c.reviewers, c.given_up_at,
       c.sent_from < clock_timestamp() - %(give_up_s)s * interval '1 second' AS is_late
FROM callbacks last
JOIN callbacks c USING (service, environment, key)
WHERE last.callback_id = %(callback_id)s AND c.callback_id <= last.callback_id
ORDER BY c.callback_id

-- name: delete_callback
DELETE FROM callbacks WHERE callback_id = %(callback_id)s

-- name: note_fault
UPDATE callbacks SET fault = %(fault)s WHERE callback_id = %(callback_id)s

-- name: give_up
UPDATE callbacks SET given_up_at = clock_timestamp() WHERE callback_id = %(callback_id)s AND given_up_at IS NULL

-- name: list_callbacks
SELECT callback_id, service, environment, key, created_at, given_up_at, fault
FROM callbacks
WHERE callback_id > %(after)s AND (NOT %(given_up)s OR given_up_at IS NOT NULL)
ORDER BY callback_id
LIMIT %(limit)s

-- name: list_undelivered
-- Callbacks that have waited for a while.
SELECT callback_id, service, environment, key
FROM callbacks
WHERE callback_id > %(after)s AND given_up_at IS NULL AND created_at < clock_timestamp() - %(age_s)s * interval '1 second'
ORDER BY callback_id
LIMIT %(limit)s

-- name: take_given_up
UPDATE callbacks SET given_up_at = NULL, sent_from = clock_timestamp()
WHERE given_up_at IS NOT NULL AND (%(callback_id)s::bigint = 0 OR callback_id = %(callback_id)s)
RETURNING callback_id, service, environment, key

-- name: count_callbacks
SELECT count(*), count(given_up_at), coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8
FROM callbacks
