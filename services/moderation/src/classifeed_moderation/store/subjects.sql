-- Texts to be judged: store, claim, leave to people, release.

-- name: add_subjects
-- New texts. An existing key keeps its row, and is missing from the result.
INSERT INTO subjects (subject_key, kind, text, text_hash, cache_key, region_ids, status, next_retry)
SELECT n.subject_key, n.kind, n.text, n.text_hash, n.cache_key,
       ARRAY(SELECT jsonb_array_elements_text(n.region_ids)::integer), n.status,
       CASE WHEN n.status = 'PENDING' THEN clock_timestamp() + %(retry_s)s * interval '1 second' END
FROM unnest(%(subject_keys)s::text[], %(kinds)s::text[], %(texts)s::text[], %(text_hashes)s::bytea[],
            %(cache_keys)s::bytea[], %(region_ids)s::jsonb[], %(statuses)s::text[])
     AS n (subject_key, kind, text, text_hash, cache_key, region_ids, status)
ON CONFLICT (subject_key) DO NOTHING
RETURNING subject_key

-- name: delete_subjects
DELETE FROM subjects WHERE subject_key = ANY (%(subject_keys)s)

-- name: claim_due
-- Due texts, oldest first, each for one process: a claim moves the time of the text, so that other processes skip it.
-- statement_timestamp() is constant within a statement, so that the index scan can end at the first text that is not
-- due.
WITH due AS (
    SELECT subject_key
    FROM subjects
    WHERE status = 'PENDING' AND kind = %(kind)s AND next_retry <= statement_timestamp()
    ORDER BY next_retry
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE subjects s SET next_retry = clock_timestamp() + %(retry_s)s * interval '1 second'
FROM due
WHERE s.subject_key = due.subject_key
RETURNING s.subject_key, s.kind, s.text, s.text_hash, s.region_ids, s.cache_key, s.is_recheck

-- name: list_sellers
-- The next sellers with waiting texts: one index lookup for each seller, regardless of the number of texts.
WITH RECURSIVE sellers (seller_id, place) AS (
    (SELECT seller_id, 1
     FROM subjects
     WHERE status = 'PENDING' AND kind = 'OFFER' AND seller_id > %(after)s
     ORDER BY seller_id
     LIMIT 1)
    UNION ALL
    SELECT (SELECT n.seller_id
            FROM subjects n
            WHERE n.status = 'PENDING' AND n.kind = 'OFFER' AND n.seller_id > s.seller_id
            ORDER BY n.seller_id
            LIMIT 1), s.place + 1
    FROM sellers s
    WHERE s.seller_id IS NOT NULL AND s.place < %(limit)s
)
SELECT seller_id FROM sellers WHERE seller_id IS NOT NULL ORDER BY place

-- name: claim_shares
-- Due texts of offers, oldest first, up to a share for each of these sellers. The row comparison makes the planner use
-- the index by seller. The index by due time has the same order, but there the scan must pass the texts of all other
-- sellers.
WITH due AS (
    SELECT d.subject_key
    FROM unnest(%(seller_ids)s::text[]) AS s (seller_id)
    CROSS JOIN LATERAL (
        SELECT t.subject_key
        FROM subjects t
        WHERE t.status = 'PENDING' AND t.kind = 'OFFER'
          AND (t.seller_id, t.next_retry) >= (s.seller_id, '-infinity'::timestamptz)
          AND (t.seller_id, t.next_retry) <= (s.seller_id, statement_timestamp())
        ORDER BY t.seller_id, t.next_retry
        LIMIT %(share)s
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS d
)
UPDATE subjects s SET next_retry = clock_timestamp() + %(retry_s)s * interval '1 second'
FROM due
WHERE s.subject_key = due.subject_key
RETURNING s.subject_key, s.kind, s.text, s.text_hash, s.region_ids, s.cache_key, s.is_recheck

-- name: leave
-- People have these texts, which are requested again unless verdicts arrive before. Reviews of texts that were changed,
-- removed or decided since their request are closed.
WITH given AS (
    SELECT subject_key, text_hash, sent_key, cache_key
    FROM unnest(%(subject_keys)s::text[], %(text_hashes)s::bytea[], %(sent_keys)s::text[], %(cache_keys)s::bytea[])
         AS g (subject_key, text_hash, sent_key, cache_key)
), left_texts AS (
    UPDATE subjects s
    SET next_retry = clock_timestamp() + %(pending_s)s * interval '1 second', is_with_people = true
    FROM given
    WHERE s.subject_key = given.subject_key AND s.text_hash = given.text_hash AND s.status = 'PENDING'
      AND s.next_retry < '9000-01-01'
    RETURNING given.sent_key
)
INSERT INTO closings (sent_key, cache_key)
SELECT DISTINCT ON (sent_key) sent_key, cache_key
FROM given
WHERE sent_key NOT IN (SELECT sent_key FROM left_texts)
ON CONFLICT (sent_key) DO UPDATE
SET cache_key = excluded.cache_key, noted_at = clock_timestamp(), due_at = clock_timestamp()

-- name: put_off
-- Waiting texts, requested again after a delay and not earlier.
UPDATE subjects s
SET next_retry = greatest(s.next_retry, clock_timestamp() + p.delay_s * interval '1 second')
FROM unnest(%(subject_keys)s::text[], %(delays_s)s::float8[]) AS p (subject_key, delay_s)
WHERE s.subject_key = p.subject_key AND s.status = 'PENDING'

-- name: release_same
-- Waiting equal texts, whose verdicts are now known. A locked text is being decided, rewritten or left to people, or
-- keeps its own time. Waiting for it while holding other locks could deadlock.
WITH free AS (
    SELECT subject_key
    FROM subjects
    WHERE status = 'PENDING' AND NOT is_recheck AND cache_key = ANY (%(cache_keys)s)
      AND next_retry < '9000-01-01'
      AND next_retry > clock_timestamp() AND NOT subject_key = ANY (%(subject_keys)s)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE subjects s SET next_retry = clock_timestamp() FROM free WHERE s.subject_key = free.subject_key

-- name: lock_keys
SELECT FROM subjects WHERE subject_key = ANY (%(subject_keys)s) ORDER BY subject_key FOR NO KEY UPDATE

-- name: lock_subjects
SELECT subject_key, kind, text, title_chars, text_hash, cache_key, content_version, region_ids, seller_id, namespace,
       external_id, status, started, next_retry, verdicts, decision_id, decided_by
FROM subjects
WHERE subject_key = ANY (%(subject_keys)s)
ORDER BY subject_key
FOR NO KEY UPDATE

-- name: lock_points
SELECT point_id, tags, author_role FROM points WHERE point_id = ANY (%(point_ids)s) ORDER BY point_id FOR NO KEY UPDATE

-- name: recheck
-- Requests these texts again at once; from now on they wait.
UPDATE subjects SET status = 'PENDING', started = clock_timestamp(), next_retry = clock_timestamp(), is_recheck = true
WHERE subject_key = ANY (%(subject_keys)s)

-- name: find_subject
SELECT s.subject_key, s.kind, s.text, s.title_chars, s.text_hash, s.cache_key, s.content_version, s.region_ids,
       s.seller_id, s.namespace, s.external_id, s.status, s.started, s.next_retry, s.verdicts, s.decision_id, s.decided_by
FROM subjects s
WHERE s.subject_key = %(subject_key)s

-- name: list_pending
SELECT s.subject_key, s.kind, s.text, s.title_chars, s.text_hash, s.cache_key, s.content_version, s.region_ids,
       s.seller_id, s.namespace, s.external_id, s.status, s.started, s.next_retry, s.verdicts, s.decision_id, s.decided_by
FROM subjects s
WHERE s.status = 'PENDING' AND s.kind = %(kind)s AND s.next_retry < '9000-01-01'
  AND (s.next_retry, s.subject_key) > (%(after_retry)s::timestamptz, %(after_key)s::text)
  AND (%(region_id)s::integer = 0 OR %(region_id)s::integer = ANY (s.region_ids))
  AND (%(verdict)s::text = '' OR s.verdicts @> jsonb_build_array(jsonb_build_object('name', %(verdict)s::text)))
ORDER BY s.next_retry, s.subject_key
LIMIT %(limit)s

-- name: count_waiting
-- Number of waiting texts of each kind, and the age of the oldest; without texts of removed points.
SELECT kind, count(*), extract(epoch from clock_timestamp() - min(started))::float8
FROM subjects
WHERE status = 'PENDING' AND next_retry < '9000-01-01'
GROUP BY kind
