-- Rejudgements of stored verdicts.

-- name: add_rejudgement
INSERT INTO rejudgements (request_id, kind, is_dry_run) VALUES (%(request_id)s, %(kind)s, %(is_dry_run)s)
ON CONFLICT (request_id) DO NOTHING

-- name: find_rejudgement
SELECT request_id, kind, is_dry_run, judged, changes, ended_at FROM rejudgements WHERE request_id = %(request_id)s

-- name: list_judged
-- Texts that a rule decided, in the order of their keys.
WITH judged AS MATERIALIZED (
    SELECT subject_key, kind, region_ids, status, verdicts
    FROM subjects
    WHERE subject_key > %(after)s AND status <> 'PENDING' AND decided_by = 'RULE'
      AND (%(kind)s::text IS NULL OR kind = %(kind)s)
    ORDER BY subject_key
    LIMIT %(limit)s
)
SELECT j.subject_key, j.kind, j.region_ids, j.status, j.verdicts, p.tags
FROM judged j
LEFT JOIN points p ON p.point_id = CASE WHEN j.kind = 'POINT' THEN j.subject_key::uuid END
ORDER BY j.subject_key

-- name: note_slice
UPDATE rejudgements
SET judged = judged + %(judged)s, changes = %(changes)s::jsonb,
    ended_at = CASE WHEN %(is_last)s THEN clock_timestamp() END
WHERE request_id = %(request_id)s
