-- Appeals against decisions.

-- name: add_appeal
INSERT INTO appeals (subject_key, decision_id, author_id, reason)
VALUES (%(subject_key)s, %(decision_id)s, %(author_id)s, %(reason)s)
ON CONFLICT (decision_id) DO NOTHING
RETURNING appeal_id

-- name: find_by_decision
SELECT appeal_id, subject_key, decision_id, author_id, reason, reviewer, ended_at
FROM appeals
WHERE decision_id = %(decision_id)s

-- name: lock_appeal
SELECT appeal_id, subject_key, decision_id, author_id, reason, reviewer, ended_at
FROM appeals
WHERE appeal_id = %(appeal_id)s
FOR NO KEY UPDATE

-- name: list_open
SELECT appeal_id, subject_key, decision_id, author_id, reason, reviewer, ended_at
FROM appeals
WHERE ended_at IS NULL AND appeal_id > %(after)s
ORDER BY appeal_id
LIMIT %(limit)s

-- name: end_appeal
UPDATE appeals SET ended_at = clock_timestamp(), reviewer = %(reviewer)s WHERE appeal_id = %(appeal_id)s
