-- What was kept long enough.

-- name: delete_decisions
-- Decisions that newer ones have superseded, and those that were never applied.
DELETE FROM decisions
WHERE decision_id IN (
    SELECT d.decision_id
    FROM decisions d
    LEFT JOIN subjects s ON s.subject_key = d.subject_key
    WHERE d.recorded_at < %(before)s AND s.decision_id IS DISTINCT FROM d.decision_id
    LIMIT %(limit)s
)

-- name: delete_kept
DELETE FROM verdict_cache
WHERE cache_key IN (SELECT cache_key FROM verdict_cache WHERE stored_at < %(before)s LIMIT %(limit)s)
