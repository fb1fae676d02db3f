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

-- name: count_open_of
-- Appeals of an author that can still be decided.
SELECT count(*)
FROM appeals a
JOIN subjects s ON s.subject_key = a.subject_key AND s.decision_id = a.decision_id AND s.status = 'DISAPPROVED'
WHERE a.author_id = %(author_id)s AND a.ended_at IS NULL

-- name: lock_appeal
SELECT appeal_id, subject_key, decision_id, author_id, reason, reviewer, ended_at
FROM appeals
WHERE appeal_id = %(appeal_id)s
FOR NO KEY UPDATE

-- name: list_open
-- Those whose decision still holds: a text that was changed or judged again since has none to appeal against.
SELECT a.appeal_id, a.subject_key, a.decision_id, a.author_id, a.reason, a.reviewer, a.ended_at
FROM appeals a
JOIN subjects s ON s.subject_key = a.subject_key AND s.decision_id = a.decision_id AND s.status = 'DISAPPROVED'
WHERE a.ended_at IS NULL AND a.appeal_id > %(after)s
ORDER BY a.appeal_id
LIMIT %(limit)s

-- name: find_outcome
-- What a reviewer has decided in the place of a decision.
SELECT decision_id, status, rule
FROM decisions
WHERE subject_key = %(subject_key)s AND supersedes_id = %(decision_id)s AND reviewer = %(reviewer)s

-- name: has_decided
-- Whether a reviewer has decided about this text before, here or at the verdict service.
SELECT EXISTS (
    SELECT FROM decisions
    WHERE subject_key = %(subject_key)s AND text_hash = %(text_hash)s
      AND (reviewer = ANY (%(reviewers)s::text[])
           OR EXISTS (SELECT FROM jsonb_array_elements(verdicts) AS verdict
                      WHERE verdict -> 'reviewers' ?| %(reviewers)s::text[]))
)

-- name: end_appeal
UPDATE appeals SET ended_at = clock_timestamp(), reviewer = %(reviewer)s WHERE appeal_id = %(appeal_id)s
