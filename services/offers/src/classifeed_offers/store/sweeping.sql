-- name: has_at_most
SELECT count(*) <= %(offers)s
FROM (SELECT FROM offers WHERE seller_id = %(seller)s AND namespace = %(namespace)s LIMIT %(offers)s + 1) AS first

-- name: lock_end
-- The head is locked so that no batch of a higher run is applied while we act on the offers that this run has seen.
SELECT h.task_id, h.run, e.outcome, e.planned_at IS NOT NULL AS planned, e.disposition, e.removed, e.made_manual, e.kept,
       e.changed, e.dropped, e.decision, e.hold
FROM task_heads h
JOIN task_ends e USING (seller_id, namespace)
WHERE e.seller_id = %(seller)s AND e.namespace = %(namespace)s AND e.task_id = %(task)s AND e.run = %(run)s
FOR SHARE OF h FOR UPDATE OF e

-- name: plan_slices
-- The anti-join is written as EXCEPT, which the planner always hashes or sorts. NOT EXISTS becomes a nested loop while
-- the tables have no statistics. The statement also returns the guard's figures: the size of the namespace at the last
-- load that completed its removals. Offers that a held or rejected load has added since then do not count, because they
-- must not compensate for offers that the load lacks.
WITH accepted AS (
    SELECT task_id, received_at
    FROM task_ends
    WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id < %(task)s AND outcome = 'COMPLETED'
      AND planned_at IS NOT NULL AND decision IS DISTINCT FROM 'REJECT'
    ORDER BY task_id DESC, run DESC
    LIMIT 1
), since AS (
    SELECT coalesce(max(task_id), %(task)s - 1) AS task_id, coalesce(max(received_at), 'infinity') AS at FROM accepted
), present AS (
    SELECT offer_id,
           status IN ('ACTIVE', 'PENDING') AND created_at <= (SELECT at FROM since)
           AND NOT (last_change = 'ADDED' AND last_task_id > (SELECT task_id FROM since)) AS counted
    FROM offers
    WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND (origin = 'FEED' OR %(with_manual)s)
      AND status <> 'REMOVED'
), size AS (
    SELECT count(*) FILTER (WHERE counted) AS offers FROM present
), lacking AS (
    SELECT offer_id, (row_number() OVER (ORDER BY offer_id) - 1) / %(slice_size)s AS slice
    FROM (
        SELECT offer_id FROM present
        EXCEPT
        SELECT unnest(seen)
        FROM applied_batches
        WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s
    ) AS unseen
), stored AS (
    INSERT INTO sweep_slices (seller_id, namespace, task_id, run, slice, offer_ids)
    SELECT %(seller)s, %(namespace)s, %(task)s, %(run)s, slice, array_agg(offer_id)
    FROM lacking
    GROUP BY slice
), noted AS (
    INSERT INTO namespace_sizes AS s (seller_id, namespace, day, offers)
    SELECT %(seller)s, %(namespace)s, (clock_timestamp() AT TIME ZONE 'UTC')::date, offers
    FROM size
    WHERE offers > 0
    ON CONFLICT (seller_id, namespace, day) DO UPDATE SET offers = excluded.offers WHERE s.offers < excluded.offers
)
SELECT (SELECT offers FROM size) AS before,
       (SELECT count(*) FROM lacking) AS lacking,
       (SELECT coalesce(max(offers), 0) FROM namespace_sizes
        WHERE seller_id = %(seller)s AND namespace = %(namespace)s
          AND day > (clock_timestamp() AT TIME ZONE 'UTC')::date - 7) AS most_before,
       NOT EXISTS (SELECT FROM applied_batches
                   WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s
                     AND seen <> '{}') AS is_empty,
       since.task_id, (SELECT received_at FROM accepted)
FROM since

-- name: count_swept_before
-- Offers that sweeps of earlier runs of the task have removed or made manual count for this run. The statement reads
-- the whole namespace, so only if an earlier run has an end.
SELECT count(*) FILTER (WHERE status = 'REMOVED' AND last_change = 'REMOVED'),
       count(*) FILTER (WHERE origin = 'MANUAL' AND last_change = 'MADE_MANUAL')
FROM offers
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND last_task_id = %(task)s
  AND (SELECT EXISTS (SELECT FROM task_ends e
                      WHERE e.seller_id = %(seller)s AND e.namespace = %(namespace)s
                        AND e.task_id = %(task)s AND e.run < %(run)s))

-- name: mark_planned
UPDATE task_ends
SET planned_at = clock_timestamp(), removed = %(removed)s, made_manual = %(made_manual)s
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s

-- name: take_slice
DELETE FROM sweep_slices s
WHERE s.seller_id = %(seller)s AND s.namespace = %(namespace)s AND s.task_id = %(task)s AND s.run = %(run)s
  AND s.slice = (SELECT min(n.slice) FROM sweep_slices n
                 WHERE n.seller_id = s.seller_id AND n.namespace = s.namespace
                   AND n.task_id = s.task_id AND n.run = s.run)
RETURNING s.offer_ids

-- name: remove_offers
-- The next round of requests tells moderation that waiting texts need no verdict (judging.sql, `request_again`).
UPDATE offers
SET status = 'REMOVED', last_task_id = %(task)s, last_ordinal = 0, last_line = 0, last_change = 'REMOVED',
    text_requested_at = CASE WHEN text_requested_at IS NOT NULL THEN '-infinity'::timestamptz END,
    version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
    updated_at = clock_timestamp()
WHERE offer_id = ANY(%(offer_ids)s::bigint[]) AND (origin = 'FEED' OR %(with_manual)s) AND status <> 'REMOVED'

-- name: make_manual
UPDATE offers
SET origin = 'MANUAL', last_task_id = %(task)s, last_ordinal = 0, last_line = 0, last_change = 'MADE_MANUAL',
    version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
    updated_at = clock_timestamp()
WHERE offer_id = ANY(%(offer_ids)s::bigint[]) AND origin = 'FEED' AND status <> 'REMOVED'

-- name: count_swept
UPDATE task_ends
SET removed = removed + %(removed)s, made_manual = made_manual + %(made_manual)s
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s

-- name: forget_sizes
DELETE FROM namespace_sizes WHERE seller_id = %(seller)s AND namespace = %(namespace)s

-- name: count_shown
-- Offers that a run lacks: the number that the guard counts, and the number that the search shows or may show.
SELECT count(*) FILTER (WHERE o.created_at <= coalesce(%(accepted_at)s::timestamptz, 'infinity')
                        AND NOT (o.last_change = 'ADDED' AND o.last_task_id > %(accepted_task)s)),
       count(*)
FROM sweep_slices s CROSS JOIN LATERAL unnest(s.offer_ids) AS l(offer_id) JOIN offers o USING (offer_id)
WHERE s.seller_id = %(seller)s AND s.namespace = %(namespace)s AND s.task_id = %(task)s AND s.run = %(run)s
  AND o.status IN ('ACTIVE', 'PENDING')

-- name: count_lacking
SELECT coalesce(sum(cardinality(offer_ids)), 0)::bigint
FROM sweep_slices
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s

-- name: sample_lacking
-- In the byte order of the ids, independent of the collation of the database.
SELECT o.external_id, o.content
FROM sweep_slices s CROSS JOIN LATERAL unnest(s.offer_ids) AS l(offer_id) JOIN offers o USING (offer_id)
WHERE s.seller_id = %(seller)s AND s.namespace = %(namespace)s AND s.task_id = %(task)s AND s.run = %(run)s
  AND o.status IN ('ACTIVE', 'PENDING') AND NOT (o.last_change = 'ADDED' AND o.last_task_id > %(accepted_task)s)
ORDER BY o.external_id COLLATE "C"
LIMIT %(limit)s

-- name: find_renamed
-- Offers that the load lacks and has under another id: with the same content, or with an id that is the same except for
-- capitals, signs, and letters and zeros in front of a number. The statement sorts instead of joining, because the
-- planner may have no statistics yet. The number of compared offers is limited, because the head of the namespace is
-- locked.
WITH lacking AS (
    SELECT o.external_id, o.content_hash, false AS is_new
    FROM (SELECT offer_ids FROM sweep_slices
          WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s
          ORDER BY slice LIMIT %(slices)s) AS s
    CROSS JOIN LATERAL unnest(s.offer_ids) AS l(offer_id)
    JOIN offers o USING (offer_id)
    WHERE o.status IN ('ACTIVE', 'PENDING') AND NOT (o.last_change = 'ADDED' AND o.last_task_id > %(accepted_task)s)
), brought AS (
    SELECT o.external_id, o.content_hash, true AS is_new
    FROM (SELECT seen FROM applied_batches
          WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s
          ORDER BY batch_id LIMIT %(batches)s) AS b
    CROSS JOIN LATERAL unnest(b.seen) AS l(offer_id)
    JOIN offers o USING (offer_id)
    WHERE o.last_change = 'ADDED' AND o.last_task_id > %(accepted_task)s
), plain AS (
    SELECT external_id COLLATE "C" AS external_id, content_hash, is_new,
           regexp_replace(lower(external_id), '[^[:alnum:]]', '', 'g') AS letters
    FROM (SELECT * FROM lacking UNION ALL SELECT * FROM brought) AS both_sides
), matched AS (
    SELECT external_id, is_new,
           coalesce(min(external_id) FILTER (WHERE is_new)
                        OVER (PARTITION BY regexp_replace(letters, '^[[:alpha:]]*0*(?=[[:digit:]])', '') COLLATE "C"),
                    min(external_id) FILTER (WHERE is_new) OVER (PARTITION BY content_hash)) AS twin
    FROM plain
)
SELECT count(*), min(ARRAY[external_id, twin]) FROM matched WHERE NOT is_new AND twin IS NOT NULL

-- name: hold_end
UPDATE task_ends
SET outcome = 'HELD', hold = %(hold)b, ended_at = clock_timestamp()
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s

-- name: decide_end
-- The first decision counts. A decision after the sweep has begun changes nothing. A permission in advance is no
-- decision.
UPDATE task_ends
SET decision = %(decision)s, outcome = NULL, ended_at = NULL
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s
  AND coalesce(decision, '') NOT IN ('CONFIRM', 'REJECT') AND (outcome = 'HELD' OR (outcome IS NULL AND planned_at IS NULL))

-- name: finish_end
UPDATE task_ends
SET outcome = %(outcome)s, kept = %(kept)s, dropped = dropped + %(dropped)s, ended_at = clock_timestamp()
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s

-- name: drop_slices
DELETE FROM sweep_slices
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND (task_id, run) <= (%(task)s, %(run)s)

-- name: drop_seen
-- Includes runs that never ended: a higher run has ended, so nothing requests them any more.
UPDATE applied_batches
SET seen = NULL
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND seen IS NOT NULL
  AND (task_id, run) <= (%(task)s, %(run)s)
