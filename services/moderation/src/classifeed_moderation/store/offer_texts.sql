-- Texts of offers in the table of texts.

-- name: put_offer_texts
-- Texts of offers: a new text waits, and is requested once it is due. An equal text keeps its decision, and an older
-- one changes nothing. Reviews of waiting texts that were changed are closed.
WITH replaced AS (
    SELECT subject_key, text_hash, cache_key
    FROM subjects
    WHERE subject_key = ANY (%(subject_keys)b::text[]) AND status = 'PENDING'
), put AS (
    INSERT INTO subjects AS s (subject_key, kind, text, title_chars, text_hash, cache_key, content_version, region_ids,
                               seller_id, namespace, external_id, status, next_retry)
    SELECT n.subject_key, 'OFFER', n.text, n.title_chars, n.text_hash, n.cache_key, n.content_version,
           ARRAY(SELECT jsonb_array_elements_text(n.region_ids)::integer), n.seller_id, n.namespace, n.external_id,
           'PENDING', clock_timestamp() + n.due_in_s * interval '1 second'
    FROM unnest(%(subject_keys)b::text[], %(texts)b::text[], %(title_chars)s::integer[], %(text_hashes)b::bytea[],
                %(cache_keys)b::bytea[], %(content_versions)s::bigint[], %(region_ids)s::jsonb[], %(seller_ids)b::text[],
                %(namespaces)b::text[], %(external_ids)b::text[], %(due_in_s)s::float8[])
         AS n (subject_key, text, title_chars, text_hash, cache_key, content_version, region_ids, seller_id, namespace,
               external_id, due_in_s)
    ORDER BY n.subject_key
    ON CONFLICT (subject_key) DO UPDATE
    SET text = excluded.text, title_chars = excluded.title_chars, text_hash = excluded.text_hash,
        cache_key = excluded.cache_key, content_version = excluded.content_version, region_ids = excluded.region_ids,
        status = 'PENDING', started = clock_timestamp(), next_retry = excluded.next_retry, is_recheck = false,
        verdicts = '[]', decided_by = NULL, is_with_people = false
    WHERE s.text_hash <> excluded.text_hash AND s.content_version <= excluded.content_version
    RETURNING subject_key
), closed AS (
    INSERT INTO closings (sent_key, cache_key)
    SELECT subject_key || '~' || encode(r.text_hash, 'hex'), r.cache_key
    FROM replaced r
    JOIN put USING (subject_key)
    ON CONFLICT (sent_key) DO UPDATE
    SET cache_key = excluded.cache_key, noted_at = clock_timestamp(), due_at = clock_timestamp()
)
SELECT subject_key FROM put

-- name: list_decided
-- Decided texts with the rules of their decisions.
SELECT s.subject_key, s.text, s.title_chars, s.text_hash, s.seller_id, s.namespace, s.external_id, s.status, s.verdicts,
       s.decision_id, d.rule, d.rule_set, d.recorded_at
FROM subjects s
JOIN decisions d USING (decision_id)
JOIN unnest(%(subject_keys)s::text[], %(text_hashes)s::bytea[]) AS w (subject_key, text_hash)
  ON w.subject_key = s.subject_key AND w.text_hash = s.text_hash
WHERE s.status <> 'PENDING'
