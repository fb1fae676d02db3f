-- name: has_at_most
SELECT count(*) <= %(offers)s
FROM (SELECT FROM offers WHERE seller_id = %(seller)s AND namespace = %(namespace)s LIMIT %(offers)s + 1) AS first

-- name: lock_end
-- The head is held so that no batch of a higher run is applied while we act on what this run has seen.
SELECT h.task_id, h.run, e.outcome, e.planned_at IS NOT NULL, e.disposition, e.removed, e.made_manual
FROM task_heads h
JOIN task_ends e USING (seller_id, namespace)
WHERE e.seller_id = %(seller)s AND e.namespace = %(namespace)s AND e.task_id = %(task)s AND e.run = %(run)s
FOR SHARE OF h FOR UPDATE OF e

-- name: plan_slices
-- The anti-join is written as EXCEPT: it is hashed or sorted whatever the planner believes about the tables. As NOT
-- EXISTS it became a nested loop while the tables had no statistics yet (48 s for a first load of 50,000 offers).
WITH present AS (
    SELECT offer_id
    FROM offers
    WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND origin = 'FEED' AND status <> 'REMOVED'
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
    RETURNING cardinality(offer_ids) AS offers
)
SELECT (SELECT count(*) FROM present), (SELECT coalesce(sum(offers), 0)::bigint FROM stored)

-- name: count_swept_before
-- What sweeps of earlier runs of the task have done already: it counts as this run's. It reads the whole namespace, so
-- only if an earlier run has an end.
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
UPDATE offers
SET status = 'REMOVED', last_task_id = %(task)s, last_change = 'REMOVED',
    version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
    updated_at = clock_timestamp()
WHERE offer_id = ANY(%(offer_ids)s::bigint[]) AND origin = 'FEED' AND status <> 'REMOVED'

-- name: make_manual
UPDATE offers
SET origin = 'MANUAL', last_task_id = %(task)s, last_change = 'MADE_MANUAL',
    version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
    updated_at = clock_timestamp()
WHERE offer_id = ANY(%(offer_ids)s::bigint[]) AND origin = 'FEED' AND status <> 'REMOVED'

-- name: count_swept
UPDATE task_ends
SET removed = removed + %(removed)s, made_manual = made_manual + %(made_manual)s
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s

-- name: finish_end
UPDATE task_ends
SET outcome = %(outcome)s, ended_at = clock_timestamp()
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s

-- name: drop_slices
DELETE FROM sweep_slices
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND (task_id, run) <= (%(task)s, %(run)s)

-- name: drop_seen
-- Also of runs that never ended: a higher one has ended, so nothing asks for them any more.
UPDATE applied_batches
SET seen = NULL
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND seen IS NOT NULL
  AND (task_id, run) <= (%(task)s, %(run)s)
