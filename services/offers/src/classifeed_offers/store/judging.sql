-- Verdicts about texts of offers. A transaction that applies them holds the heads of their namespaces.

-- name: apply_outcomes
-- An outcome for another text, or one that is not later than the stored one, changes nothing. Each offer is looked up
-- by its whole key: without statistics of the namespace, the planner may choose a part of the key, and every statement
-- would read all offers of the namespace.
UPDATE offers o
SET status = CASE WHEN o.status NOT IN ('PENDING', 'ACTIVE', 'BANNED') THEN o.status
                  WHEN n.ban IS NULL THEN 'ACTIVE' ELSE 'BANNED' END,
    approved_text_hash = CASE WHEN n.ban IS NULL THEN n.text_hash
                              WHEN o.approved_text_hash = n.text_hash THEN NULL ELSE o.approved_text_hash END,
    ban = n.ban, published_content = NULL, moderation = %(moderation)s, text_requested_at = NULL,
    text_decided_at = n.decided_at,
    version = greatest(o.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
    updated_at = clock_timestamp()
FROM unnest(%(external_ids)s::text[], %(text_hashes)b::bytea[], %(bans)b::bytea[], %(decided_at)s::timestamptz[])
     AS n (external_id, text_hash, ban, decided_at)
CROSS JOIN LATERAL (
    SELECT b.offer_id, b.status
    FROM offers b
    WHERE b.seller_id = %(seller)s AND b.namespace = %(namespace)s AND b.external_id = n.external_id
    LIMIT 1
) AS before
WHERE o.offer_id = before.offer_id AND o.text_hash = n.text_hash
  AND (o.text_decided_at IS NULL OR o.text_decided_at < n.decided_at)
RETURNING o.external_id, o.last_task_id, o.last_ordinal, o.last_line, o.last_change, before.status AS status_before,
          o.status, o.ban

-- name: find_unanswered
-- Offers whose text has waited too long for its verdict, the oldest requests first. statement_timestamp() is constant
-- within a statement, so that the index scan can end at the first later request.
SELECT seller_id, namespace, external_id
FROM offers
WHERE text_requested_at < statement_timestamp() - %(wait_s)s * interval '1 second'
ORDER BY text_requested_at
LIMIT %(limit)s

-- name: request_again
-- Texts that still wait. A removed offer awaits nothing: moderation gets its removal. The lookup is by whole keys, and
-- coalesce() keeps the planner from the index of waiting texts, which looks empty before it has statistics.
UPDATE offers o
SET text_requested_at = CASE WHEN o.status = 'REMOVED' THEN NULL ELSE clock_timestamp() END
FROM unnest(%(external_ids)s::text[]) AS n (external_id)
CROSS JOIN LATERAL (
    SELECT w.offer_id
    FROM offers w
    WHERE w.seller_id = %(seller)s AND w.namespace = %(namespace)s AND w.external_id = n.external_id
    LIMIT 1
) AS waiting
WHERE o.offer_id = waiting.offer_id
  AND coalesce(o.text_requested_at, 'infinity') < clock_timestamp() - %(wait_s)s * interval '1 second'
RETURNING o.external_id, CASE WHEN o.status <> 'REMOVED' THEN o.content END AS content, o.text_hash,
          (extract(epoch FROM coalesce(o.text_requested_at, clock_timestamp())) * 1000000)::bigint AS content_version

-- name: next_content_version
-- The caller holds the heads of the namespaces, so versions follow the order of requests. They are also above the
-- versions from before a restore.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint

-- name: count_unanswered
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(text_requested_at)
                                                 FILTER (WHERE text_requested_at > '-infinity')), 0)::float8
FROM offers
WHERE text_requested_at IS NOT NULL

-- name: note_applied
-- The newest decision of each partition. A poll contains a partition once, and each partition has one reader.
INSERT INTO applied_decisions AS a (partition, decision_id, seller_id, namespace)
SELECT partition, decision_id, seller_id, namespace
FROM unnest(%(partitions)s::integer[], %(decision_ids)s::bigint[], %(sellers)s::text[], %(namespaces)s::text[])
     AS n (partition, decision_id, seller_id, namespace)
ORDER BY partition
ON CONFLICT (partition) DO UPDATE
SET decision_id = excluded.decision_id, seller_id = excluded.seller_id, namespace = excluded.namespace
WHERE a.decision_id < excluded.decision_id

-- name: claim_checks
-- Decisions that were not checked for a while, each for one process.
UPDATE applied_decisions a
SET checked_at = clock_timestamp()
FROM (SELECT partition
      FROM applied_decisions
      WHERE decision_id > 0 AND checked_at <= clock_timestamp() - %(period_s)s * interval '1 second'
      ORDER BY partition
      FOR NO KEY UPDATE SKIP LOCKED) AS due
WHERE a.partition = due.partition
RETURNING a.seller_id, a.namespace, a.decision_id

-- name: forget_applied
-- If the reported decision is still the newest of its partition, forgets all decisions above the newest one that
-- moderation has: several partitions report the same loss, and one job is enough. A report that is read again changes
-- nothing.
WITH lost AS MATERIALIZED (
    SELECT partition, decision_id
    FROM applied_decisions
    WHERE decision_id > %(kept_decision_id)s
    ORDER BY partition
    FOR NO KEY UPDATE
)
UPDATE applied_decisions a
SET decision_id = 0
FROM lost
WHERE a.partition = lost.partition AND %(decision_id)s IN (SELECT decision_id FROM lost)

-- name: list_decided
-- The next offers in the order of their keys, and whether each waits, or was decided or removed at that time or later.
SELECT seller_id, namespace, external_id,
       text_requested_at IS NOT NULL OR text_decided_at >= %(since)s OR (status = 'REMOVED' AND updated_at >= %(since)s)
       AS is_wanted
FROM offers
WHERE (seller_id, namespace, external_id) > (%(seller_id)s, %(namespace)s, %(external_id)s)
ORDER BY seller_id, namespace, external_id
LIMIT %(limit)s

-- name: request_at_once
-- Texts that wait, or were removed at that time or later without a decision: these requests may be lost, too. The
-- lookup is by whole keys, as in `request_again`.
UPDATE offers o
SET text_requested_at = '-infinity'
FROM unnest(%(external_ids)s::text[]) AS n (external_id)
CROSS JOIN LATERAL (
    SELECT w.offer_id
    FROM offers w
    WHERE w.seller_id = %(seller)s AND w.namespace = %(namespace)s AND w.external_id = n.external_id
    LIMIT 1
) AS waiting
WHERE o.offer_id = waiting.offer_id
  AND (o.text_requested_at > '-infinity'
       OR (o.status = 'REMOVED' AND o.updated_at >= %(since)s AND o.text_requested_at IS NULL AND o.ban IS NULL
           AND o.text_hash IS DISTINCT FROM o.approved_text_hash))

-- name: load_decided
-- Texts that were decided at that time or later, with their decisions. The caller holds their head.
SELECT o.external_id, o.content, o.text_hash, o.ban, o.text_decided_at
FROM unnest(%(external_ids)s::text[]) AS n (external_id)
CROSS JOIN LATERAL (
    SELECT d.external_id, d.content, d.text_hash, d.ban, d.text_decided_at, d.text_requested_at, d.approved_text_hash
    FROM offers d
    WHERE d.seller_id = %(seller)s AND d.namespace = %(namespace)s AND d.external_id = n.external_id
    LIMIT 1
) AS o
WHERE o.text_decided_at >= %(since)s AND o.text_requested_at IS NULL
  AND (o.ban IS NOT NULL OR o.text_hash = o.approved_text_hash)
