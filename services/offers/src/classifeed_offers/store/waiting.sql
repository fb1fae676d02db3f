-- Changes that wait for the end of their run. They count as long as their run is the head of its namespace and has not
-- ended. Newer changes replace the rest, or the clean-up deletes it.

-- name: load_contents
SELECT offer_id, content, published_content, pictures FROM offers WHERE offer_id = ANY(%(offer_ids)s::bigint[])

-- name: find_available
SELECT n.seller_id, n.namespace, n.task_id, n.run
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(tasks)s::bigint[], %(runs)s::integer[])
     AS n(seller_id, namespace, task_id, run)
WHERE EXISTS (SELECT FROM applied_batches b
              WHERE b.seller_id = n.seller_id AND b.namespace = n.namespace AND b.task_id = n.task_id AND b.run = n.run
                AND b.has_available)

-- name: set_aside
INSERT INTO waiting_changes (seller_id, namespace, offer_id, task_id, run, before_hash, content, content_hash, status,
                             last_change, moderation, price_ratio, turns_unavailable, text_hash, approved_text_hash, ban,
                             published_content, changes_pictures, ordinal, line)
SELECT %(seller)s, %(namespace)s, n.*
FROM unnest(%(offer_ids)s::bigint[], %(tasks)s::bigint[], %(runs)s::integer[], %(before_hashes)b::bytea[],
            %(contents)b::bytea[], %(hashes)b::bytea[], %(statuses)s::text[], %(changes)s::text[], %(moderations)s::text[],
            %(price_ratios)s::float8[], %(turns_unavailable)s::boolean[], %(text_hashes)b::bytea[],
            %(approved_text_hashes)b::bytea[], %(bans)b::bytea[], %(published_contents)b::bytea[],
            %(change_pictures)s::boolean[], %(ordinals)s::bigint[], %(lines)s::bigint[]) AS n
ON CONFLICT (seller_id, namespace, offer_id) DO UPDATE
SET task_id = excluded.task_id, run = excluded.run, before_hash = excluded.before_hash, content = excluded.content,
    content_hash = excluded.content_hash, status = excluded.status, last_change = excluded.last_change,
    moderation = excluded.moderation, price_ratio = excluded.price_ratio,
    turns_unavailable = excluded.turns_unavailable, text_hash = excluded.text_hash,
    approved_text_hash = excluded.approved_text_hash, ban = excluded.ban,
    published_content = excluded.published_content, changes_pictures = excluded.changes_pictures,
    ordinal = excluded.ordinal, line = excluded.line

-- name: count_waiting
SELECT count(*),
       count(*) FILTER (WHERE price_ratio >= %(factor)s::float8 OR price_ratio * %(factor)s::float8 <= 1),
       count(price_ratio),
       count(*) FILTER (WHERE turns_unavailable)
FROM waiting_changes
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s

-- name: sum_batches
-- A later run of the task finds the changes of an earlier run already made, so they count for the later run.
SELECT coalesce(sum(steady_prices), 0)::bigint, coalesce(bool_or(has_available AND run = %(run)s), false)
FROM applied_batches
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run <= %(run)s

-- name: find_middle
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY price_ratio)
FROM waiting_changes
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s
  AND (price_ratio >= %(factor)s::float8 OR price_ratio * %(factor)s::float8 <= 1)

-- name: sample_moved
SELECT o.external_id, o.content, w.content
FROM (SELECT offer_id, content
      FROM waiting_changes
      WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s
        AND (price_ratio >= %(factor)s::float8 OR price_ratio * %(factor)s::float8 <= 1)
      ORDER BY offer_id
      LIMIT %(limit)s) AS w
JOIN offers o USING (offer_id)
ORDER BY offer_id

-- name: make_changes
-- An offer that has changed since its change was set aside stays as it is. A verdict about a text that such a change
-- introduces is requested afterwards, and so are new pictures.
WITH taken AS (
    DELETE FROM waiting_changes
    WHERE seller_id = %(seller)s AND namespace = %(namespace)s
      AND offer_id = ANY(ARRAY(
          SELECT offer_id
          FROM waiting_changes
          WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s
          ORDER BY offer_id
          LIMIT %(limit)s))
    RETURNING offer_id, before_hash, content, content_hash, status, last_change, moderation, text_hash,
              approved_text_hash, ban, published_content, changes_pictures, ordinal, line
), made AS (
    UPDATE offers o
    SET content = t.content, content_hash = t.content_hash, last_task_id = %(task)s, last_ordinal = t.ordinal,
        last_line = t.line, last_change = t.last_change,
        moderation = t.moderation,
        -- A decision that was made about the same text meanwhile stays.
        status = CASE WHEN t.text_hash = o.text_hash THEN o.status ELSE t.status END,
        published_content = CASE WHEN t.text_hash = o.text_hash AND o.published_content IS NULL THEN NULL
                                 ELSE t.published_content END,
        approved_text_hash = CASE WHEN t.text_hash = o.text_hash THEN o.approved_text_hash
                                  ELSE t.approved_text_hash END,
        ban = CASE WHEN t.text_hash = o.text_hash THEN o.ban ELSE t.ban END,
        text_requested_at = CASE WHEN t.text_hash = o.text_hash THEN o.text_requested_at
                                 WHEN t.text_hash IS DISTINCT FROM t.approved_text_hash AND t.ban IS NULL
                                 THEN '-infinity' END,
        text_decided_at = CASE WHEN t.text_hash = o.text_hash THEN o.text_decided_at END,
        text_hash = t.text_hash,
        pictures_requested_at = CASE WHEN t.changes_pictures THEN '-infinity' ELSE o.pictures_requested_at END,
        version = greatest(o.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
        updated_at = clock_timestamp()
    FROM taken t
    WHERE o.offer_id = t.offer_id AND o.content_hash = t.before_hash AND o.origin = 'FEED'
      AND o.status IN ('ACTIVE', 'PENDING')
    RETURNING o.offer_id
), counts AS (
    SELECT (SELECT count(*) FROM taken) AS taken, (SELECT count(*) FROM made) AS made
)
UPDATE task_ends
SET changed = changed + counts.made, dropped = dropped + counts.taken - counts.made
FROM counts
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s AND counts.taken > 0
