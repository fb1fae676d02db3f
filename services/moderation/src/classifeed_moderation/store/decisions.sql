-- Decisions about texts.

-- name: record
-- Decisions and their effects, in one statement: status and verdicts of the text, tags and version of its point, and
-- reviews that are no longer needed. A decision that is not applied is only recorded.
WITH made AS (
    SELECT * FROM jsonb_to_recordset(%(decisions)s::jsonb) AS d (
        subject_key text, kind text, content_version bigint, text_hash text, region_ids integer[], status text,
        verdicts jsonb, rule text, rule_set text, region_id integer, maker text, reviewer text, is_automatic boolean,
        is_applied boolean, not_applied_reason text, supersedes_id bigint, tags_before text[], tags_after text[],
        request_id text, started timestamptz
    )
), recorded AS (
    INSERT INTO decisions (subject_key, kind, content_version, text_hash, region_ids, status, verdicts, rule, rule_set,
                           region_id, maker, reviewer, is_automatic, is_applied, not_applied_reason, supersedes_id,
                           tags_before, tags_after, request_id, waited_s, decided_at)
    SELECT subject_key, kind, content_version, decode(text_hash, 'hex'), region_ids, status, verdicts, rule, rule_set,
           region_id, maker, reviewer, is_automatic, is_applied, not_applied_reason, supersedes_id, tags_before, tags_after,
           request_id, extract(epoch from clock_timestamp() - started), %(decided_at)s
    FROM made
    RETURNING decision_id, subject_key, status, verdicts, maker, is_applied, recorded_at
), applied AS (
    UPDATE subjects s
    SET status = r.status, verdicts = r.verdicts, decision_id = r.decision_id, decided_by = r.maker, next_retry = NULL,
        is_recheck = false, is_with_people = false
    FROM recorded r
    WHERE s.subject_key = r.subject_key AND r.is_applied
), closed AS (
    INSERT INTO closings (sent_key, cache_key)
    SELECT s.subject_key || CASE WHEN s.kind = 'OFFER' THEN '~' || encode(s.text_hash, 'hex') ELSE '' END, s.cache_key
    FROM made m
    JOIN subjects s USING (subject_key)
    WHERE m.is_applied AND s.is_with_people
    ON CONFLICT (sent_key) DO UPDATE
    SET cache_key = excluded.cache_key, noted_at = clock_timestamp(), due_at = clock_timestamp()
), changed AS (
    UPDATE points p
    SET tags = m.tags_after, updated_at = clock_timestamp(),
        version = greatest(p.version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
    FROM made m
    WHERE m.kind = 'POINT' AND m.is_applied AND p.point_id = m.subject_key::uuid
)
SELECT subject_key, decision_id, recorded_at FROM recorded

-- name: list_times
SELECT decision_id, recorded_at FROM decisions WHERE decision_id = ANY (%(decision_ids)s)

-- name: list_lost
-- Numbers without a decision, with the newest number below each. Numbers beyond the retention are skipped: their
-- decisions may have been deleted.
SELECT n.decision_id,
       coalesce((SELECT max(d.decision_id) FROM decisions d WHERE d.decision_id < n.decision_id), 0) AS kept_decision_id
FROM unnest(%(decision_ids)s::bigint[]) AS n (decision_id)
WHERE NOT EXISTS (SELECT FROM decisions d WHERE d.decision_id = n.decision_id)
  AND n.decision_id >> 10 > (extract(epoch FROM clock_timestamp() - %(kept_days)s * interval '1 day') * 1000)::bigint

-- name: list_repeated
-- Verdicts that were recorded before in the same state of the text and changed nothing, with their age in seconds.
SELECT w.subject_key, extract(epoch from clock_timestamp() - r.recorded_at)::float8 AS age_s
FROM unnest(%(subject_keys)s::text[], %(text_hashes)s::bytea[], %(supersedes_ids)s::bigint[], %(reasons)s::text[],
            %(names)s::jsonb[])
     AS w (subject_key, text_hash, supersedes_id, reason, names)
CROSS JOIN LATERAL (
    SELECT d.recorded_at
    FROM decisions d
    WHERE d.subject_key = w.subject_key AND NOT d.is_applied AND d.text_hash = w.text_hash
      AND d.supersedes_id IS NOT DISTINCT FROM w.supersedes_id AND d.not_applied_reason = w.reason
      AND jsonb_path_query_array(d.verdicts, '$[*].name') = w.names
    ORDER BY d.decision_id DESC
    LIMIT 1
) AS r

-- name: keep_verdicts
INSERT INTO verdict_cache (cache_key, verdicts, is_from_people)
SELECT cache_key, verdicts, is_from_people
FROM unnest(%(cache_keys)b::bytea[], %(verdicts)s::jsonb[], %(are_from_people)s::boolean[])
     AS k (cache_key, verdicts, is_from_people)
ON CONFLICT (cache_key) DO UPDATE
SET verdicts = excluded.verdicts, is_from_people = excluded.is_from_people, stored_at = clock_timestamp()

-- name: list_kept
SELECT cache_key, verdicts, is_from_people
FROM verdict_cache
WHERE cache_key = ANY (%(cache_keys)b) AND stored_at > clock_timestamp() - %(age_s)s * interval '1 second'

-- name: list_decisions
SELECT decision_id, subject_key, kind, content_version, status, verdicts, rule, rule_set, region_id, maker, reviewer,
       is_automatic, is_applied, not_applied_reason, supersedes_id, tags_before, tags_after, request_id, decided_at,
       recorded_at
FROM decisions
WHERE decision_id > %(after)s AND (%(subject_key)s::text IS NULL OR subject_key = %(subject_key)s)
ORDER BY decision_id
LIMIT %(limit)s

-- name: find_decision
SELECT decision_id, subject_key, kind, content_version, status, verdicts, rule, rule_set, region_id, maker, reviewer,
       is_automatic, is_applied, not_applied_reason, supersedes_id, tags_before, tags_after, request_id, decided_at,
       recorded_at
FROM decisions
WHERE decision_id = %(decision_id)s
