-- Times from which on events may be missing.

-- name: open_gap
INSERT INTO event_gaps (gap_id, cause)
SELECT greatest(coalesce(max(gap_id), 0) + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), %(cause)s
FROM event_gaps
ON CONFLICT DO NOTHING

-- name: list_open
SELECT gap_id, cause FROM event_gaps WHERE closed_at IS NULL ORDER BY gap_id

-- name: close_through
UPDATE event_gaps SET closed_at = clock_timestamp() WHERE closed_at IS NULL AND gap_id <= %(gap_id)s

-- name: delete_closed
DELETE FROM event_gaps
WHERE gap_id = ANY (ARRAY(
    SELECT gap_id FROM event_gaps WHERE closed_at < %(before)s ORDER BY gap_id LIMIT %(limit)s))
