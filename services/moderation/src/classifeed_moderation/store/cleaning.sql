-- Clean-up of expired rows. Locked texts and kept verdicts are skipped until the next time: they are about to change,
-- and waiting for them while holding other locks could deadlock.

-- name: delete_decisions
-- Decisions that newer ones have superseded, and decisions that were never applied.
DELETE FROM decisions
WHERE decision_id IN (
    SELECT d.decision_id
    FROM decisions d
    LEFT JOIN subjects s ON s.subject_key = d.subject_key
    WHERE d.recorded_at < %(before)s AND s.decision_id IS DISTINCT FROM d.decision_id
    LIMIT %(limit)s
)

-- name: delete_kept
WITH old AS (
    SELECT cache_key FROM verdict_cache WHERE stored_at < %(before)s LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
DELETE FROM verdict_cache v USING old WHERE v.cache_key = old.cache_key

-- name: delete_offer_texts
-- Texts of offers with an old decision: such a text is judged again when it arrives again.
WITH old AS (
    SELECT s.subject_key
    FROM decisions d
    JOIN subjects s ON s.decision_id = d.decision_id
    WHERE d.recorded_at < %(before)s AND s.kind = 'OFFER' AND s.status <> 'PENDING'
    LIMIT %(limit)s
    FOR UPDATE OF s SKIP LOCKED
)
DELETE FROM subjects s USING old WHERE s.subject_key = old.subject_key

-- name: delete_points
-- Removed points with their comments, votes and texts.
WITH old AS (
    SELECT point_id FROM points WHERE removed_at < %(before)s AND version <= published_version LIMIT %(limit)s
), texts AS (
    DELETE FROM subjects s USING old WHERE s.subject_key = old.point_id::text
), comment_texts AS (
    DELETE FROM subjects s
    USING old JOIN comments c USING (point_id)
    WHERE s.subject_key = c.point_id::text || '/' || c.idx
)
DELETE FROM points p USING old WHERE p.point_id = old.point_id

-- name: delete_closings
DELETE FROM closings
WHERE sent_key IN (
    SELECT sent_key FROM closings WHERE noted_at < %(before)s LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)

-- name: delete_appeals
DELETE FROM appeals WHERE appeal_id IN (SELECT appeal_id FROM appeals WHERE ended_at < %(before)s LIMIT %(limit)s)

-- name: delete_rejudgements
DELETE FROM rejudgements
WHERE request_id IN (SELECT request_id FROM rejudgements WHERE requested_at < %(before)s LIMIT %(limit)s)
