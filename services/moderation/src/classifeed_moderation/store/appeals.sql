-- Appeals against decisions.

-- name: find_author
-- The person who may appeal for a text: the seller of the offer, or the author of the point or comment.
SELECT coalesce(s.seller_id, p.author_id, c.author_id)
FROM subjects s
LEFT JOIN points p ON p.point_id = CASE WHEN s.kind = 'POINT' THEN s.subject_key::uuid END
LEFT JOIN comments c ON c.point_id = CASE WHEN s.kind = 'COMMENT' THEN split_part(s.subject_key, '/', 1)::uuid END
                    AND c.idx = CASE WHEN s.kind = 'COMMENT' THEN split_part(s.subject_key, '/', 2)::integer END
WHERE s.subject_key = %(subject_key)s

-- name: add_appeal
-- An open appeal that an earlier version accepted from another person is replaced by the author's.
INSERT INTO appeals (subject_key, decision_id, author_id, reason)
VALUES (%(subject_key)s, %(decision_id)s, %(author_id)s, %(reason)s)
ON CONFLICT (decision_id) DO UPDATE
SET author_id = excluded.author_id, reason = excluded.reason, appealed_at = clock_timestamp()
WHERE appeals.author_id <> excluded.author_id AND appeals.ended_at IS NULL

-- name: find_appeal
-- An appeal with its outcome: by its number, or by the decision that it is against.
SELECT a.appeal_id, a.subject_key, a.decision_id, a.author_id, a.reason, a.response, a.ended_at, s.kind,
       s.decision_id = a.decision_id AND s.status = 'DISAPPROVED' AS is_decidable,
       (SELECT d.decision_id
        FROM decisions d
        WHERE d.subject_key = a.subject_key AND d.supersedes_id = a.decision_id AND d.maker = 'REVIEWER' AND d.is_applied
        LIMIT 1) AS outcome_id
FROM appeals a
LEFT JOIN subjects s USING (subject_key)
WHERE a.appeal_id = %(appeal_id)s OR a.decision_id = %(decision_id)s

-- name: count_open_of
-- Appeals of a seller, or of an author of points and comments, that can still be decided.
SELECT count(*)
FROM appeals a
JOIN subjects s ON s.subject_key = a.subject_key AND s.decision_id = a.decision_id AND s.status = 'DISAPPROVED'
WHERE a.author_id = %(author_id)s AND a.ended_at IS NULL AND (s.kind = 'OFFER') = %(is_seller)s

-- name: lock_appeal
SELECT appeal_id, subject_key, decision_id, author_id, ended_at
FROM appeals
WHERE appeal_id = %(appeal_id)s
FOR NO KEY UPDATE

-- name: list_open
-- Appeals whose decision still holds: a text that was changed or judged again since has no decision to appeal against.
SELECT a.appeal_id, a.subject_key, a.decision_id, a.author_id, a.reason, a.response, a.ended_at, s.kind,
       true AS is_decidable, NULL::bigint AS outcome_id
FROM appeals a
JOIN subjects s ON s.subject_key = a.subject_key AND s.decision_id = a.decision_id AND s.status = 'DISAPPROVED'
WHERE a.ended_at IS NULL AND a.appeal_id > %(after)s
ORDER BY a.appeal_id
LIMIT %(limit)s

-- name: list_outcomes
-- Decisions of reviewers that replaced a decision.
SELECT decision_id, status, rule, reviewer
FROM decisions
WHERE subject_key = %(subject_key)s AND supersedes_id = %(decision_id)s AND reviewer <> ''

-- name: list_deciders
-- People who have decided about this text before, here and at the verdict service, as their names were spelled then.
SELECT reviewer FROM decisions
WHERE subject_key = %(subject_key)s AND text_hash = %(text_hash)s AND reviewer <> ''
UNION
SELECT jsonb_array_elements_text(verdict -> 'reviewers')
FROM decisions
CROSS JOIN LATERAL jsonb_array_elements(verdicts) AS verdict
WHERE subject_key = %(subject_key)s AND text_hash = %(text_hash)s AND verdict ? 'reviewers'

-- name: end_appeal
UPDATE appeals
SET ended_at = clock_timestamp(), reviewer = %(reviewer)s, response = %(response)s
WHERE appeal_id = %(appeal_id)s
