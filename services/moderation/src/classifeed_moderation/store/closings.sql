-- Keys whose reviews the verdict service must close: their texts were changed, removed or decided. Statements that
-- change texts add them (`leave`, `put_offer_texts`, `record`).

-- name: stop_texts
-- Waiting texts of a removed point: due in the year 9999, which means never.
WITH waiting AS (
    SELECT subject_key, cache_key
    FROM subjects
    WHERE status = 'PENDING'
      AND subject_key IN (SELECT %(point_id)s::text
                          UNION ALL
                          SELECT point_id::text || '/' || idx FROM comments WHERE point_id = %(point_id)s::uuid)
    ORDER BY subject_key
    FOR NO KEY UPDATE
), stopped AS (
    UPDATE subjects s SET next_retry = '9999-01-01', is_with_people = false
    FROM waiting
    WHERE s.subject_key = waiting.subject_key
)
INSERT INTO closings (sent_key, cache_key)
SELECT subject_key, cache_key FROM waiting
ON CONFLICT (sent_key) DO UPDATE
SET cache_key = excluded.cache_key, noted_at = clock_timestamp(), due_at = clock_timestamp()

-- name: remove_offer_texts
-- Waiting texts of removed offers: nothing refers to them any more. A text that was sent after the removal stays.
WITH waiting AS (
    SELECT w.subject_key, w.text_hash, w.cache_key
    FROM unnest(%(subject_keys)s::text[], %(content_versions)s::bigint[]) AS r (subject_key, content_version)
    CROSS JOIN LATERAL (
        SELECT s.subject_key, s.text_hash, s.cache_key
        FROM subjects s
        WHERE s.subject_key = r.subject_key AND s.status = 'PENDING' AND s.content_version <= r.content_version
        LIMIT 1
        FOR UPDATE
    ) AS w
), gone AS (
    DELETE FROM subjects s USING waiting WHERE s.subject_key = waiting.subject_key
)
INSERT INTO closings (sent_key, cache_key)
SELECT subject_key || '~' || encode(text_hash, 'hex'), cache_key FROM waiting
ON CONFLICT (sent_key) DO UPDATE
SET cache_key = excluded.cache_key, noted_at = clock_timestamp(), due_at = clock_timestamp()

-- name: claim_closings
-- Due keys, oldest first; other processes skip them for a while. While an equal text needs the reviews, a key waits and
-- its age stays zero.
UPDATE closings c
SET due_at = clock_timestamp() + %(retry_s)s * interval '1 second',
    noted_at = CASE WHEN due.is_shared THEN clock_timestamp() ELSE c.noted_at END
FROM (SELECT d.sent_key,
             EXISTS (SELECT FROM subjects s
                     WHERE s.cache_key = d.cache_key AND s.status = 'PENDING' AND s.next_retry < '9000-01-01') AS is_shared
      FROM closings d
      WHERE d.due_at <= statement_timestamp()
      ORDER BY d.due_at
      LIMIT %(limit)s
      FOR NO KEY UPDATE SKIP LOCKED) AS due
WHERE c.sent_key = due.sent_key
RETURNING c.sent_key, c.noted_at, due.is_shared

-- name: put_off_closings
-- A closed key is closed again once it is twice as old. Rows that another transaction has locked stay due.
WITH closed AS (
    SELECT c.sent_key
    FROM closings c
    JOIN unnest(%(sent_keys)s::text[], %(noted_at)s::timestamptz[]) AS w (sent_key, noted_at) USING (sent_key, noted_at)
    FOR NO KEY UPDATE OF c SKIP LOCKED
)
UPDATE closings c
SET due_at = clock_timestamp() + greatest(clock_timestamp() - c.noted_at, %(repeat_s)s * interval '1 second')
FROM closed
WHERE c.sent_key = closed.sent_key
