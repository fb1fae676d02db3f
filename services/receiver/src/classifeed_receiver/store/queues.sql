-- name: select_shards
-- How far each shard of each queue goes, and up to where it is trimmed.
SELECT queue, shard, last_idx, trimmed_idx FROM shards WHERE client = %(client)s

-- name: select_elements
-- The next elements after some cursors, with the documents they stand for; no document where a newer one is stored, or
-- none. They come in rounds, one of each cursor after another, and end where the documents would exceed the size: what
-- comes of each cursor is a prefix of what it has, and no shard waits for another.
SELECT queue, shard, idx, pk, element_version, epoch, version, modify_timestamp, status, compression, document
  FROM (SELECT e.queue, e.shard, e.idx, e.pk, e.version AS element_version, e.round, d.epoch, d.version,
               d.modify_timestamp, d.status, d.compression, d.document,
               sum(coalesce(octet_length(d.document), 0) + 64)
                   OVER (ORDER BY e.round, e.queue, e.shard ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
               AS bytes_before
          FROM unnest(%(queues)s::smallint[], %(shards)s::smallint[], %(idxs)s::bigint[]) AS c (queue, shard, idx)
         CROSS JOIN LATERAL (
               SELECT e.*, row_number() OVER (ORDER BY e.idx) AS round
                 FROM (SELECT *
                         FROM elements
                        WHERE client = %(client)s AND queue = c.queue AND shard = c.shard AND idx > c.idx
                        ORDER BY idx
                        LIMIT %(limit)s) AS e
               ) AS e
          LEFT JOIN documents d
            ON d.client = e.client AND d.hash = e.hash AND d.pk = e.pk AND d.epoch = e.epoch
               AND d.version = e.version AND d.modify_timestamp = e.modify_timestamp
       ) AS sized
 WHERE coalesce(bytes_before, 0) <= %(size_bytes)s
 ORDER BY round, queue, shard

-- name: note_failures
-- Notes why elements failed, once each. An element that is trimmed, or stands for another key, is not noted: whoever
-- reports it is behind the times.
INSERT INTO failures (client, queue, shard, idx, pk, reason, failed_idx, create_time)
SELECT e.client, e.queue, e.shard, e.idx, e.pk, n.reason, 0, clock_timestamp()
  FROM unnest(%(queues)s::smallint[], %(shards)s::smallint[], %(idxs)s::bigint[], %(pks)s::text[], %(reasons)s::text[])
       AS n (queue, shard, idx, pk, reason)
  JOIN elements e
    ON e.client = %(client)s AND e.queue = n.queue AND e.shard = n.shard AND e.idx = n.idx AND e.pk = n.pk
 ORDER BY e.queue, e.shard, e.idx
    ON CONFLICT (client, queue, shard, idx) DO NOTHING
RETURNING queue, shard, idx

-- name: append_failed
-- Gives elements just noted their places in the queue `failed`; the counters are locked last and in shard order, as in a
-- push.
WITH noted AS (
    SELECT e.*, row_number() OVER (PARTITION BY e.shard ORDER BY e.queue, e.idx) AS place
      FROM unnest(%(queues)s::smallint[], %(shards)s::smallint[], %(idxs)s::bigint[]) AS n (queue, shard, idx)
      JOIN elements e ON e.client = %(client)s AND e.queue = n.queue AND e.shard = n.shard AND e.idx = n.idx
), counted AS (
    INSERT INTO shards AS s (client, queue, shard, last_idx)
    SELECT %(client)s, 3, shard, count(*) FROM noted GROUP BY shard ORDER BY shard
        ON CONFLICT (client, queue, shard) DO UPDATE SET last_idx = s.last_idx + excluded.last_idx
    RETURNING shard, last_idx
), placed AS (
    SELECT n.*, c.last_idx - (SELECT count(*) FROM noted m WHERE m.shard = n.shard) + n.place AS failed_idx
      FROM noted n JOIN counted c USING (shard)
), linked AS (
    UPDATE failures f
       SET failed_idx = p.failed_idx
      FROM placed p
     WHERE f.client = p.client AND f.queue = p.queue AND f.shard = p.shard AND f.idx = p.idx
)
INSERT INTO elements (client, queue, shard, idx, hash, pk, epoch, version, modify_timestamp)
SELECT client, 3, shard, failed_idx, hash, pk, epoch, version, modify_timestamp FROM placed

-- name: report_progress
-- A group's cursors only go forward; each report also shows that the group lives.
INSERT INTO progress AS p (client, "group", queue, shard, idx, reported_at)
SELECT %(client)s, %(group)s, queue, shard, max(idx), clock_timestamp()
  FROM unnest(%(queues)s::smallint[], %(shards)s::smallint[], %(idxs)s::bigint[]) AS c (queue, shard, idx)
 GROUP BY queue, shard
 ORDER BY queue, shard
    ON CONFLICT (client, "group", queue, shard) DO UPDATE
   SET idx = greatest(p.idx, excluded.idx), reported_at = excluded.reported_at

-- name: select_trimmable
-- Up to where each shard may be trimmed: what every living group has passed. A group that never spoke of a shard has
-- passed nothing of it; without any living group nothing is trimmed.
WITH living AS (
    SELECT client, "group"
      FROM progress
     GROUP BY client, "group"
    HAVING max(reported_at) > clock_timestamp() - %(group_lifetime_s)s * interval '1 second'
)
SELECT s.client, s.queue, s.shard, least(min(coalesce(p.idx, 0)), s.last_idx, s.trimmed_idx + %(limit)s) AS upto
  FROM shards s
  JOIN living l USING (client)
  LEFT JOIN progress p
    ON p.client = s.client AND p."group" = l."group" AND p.queue = s.queue AND p.shard = s.shard
 GROUP BY s.client, s.queue, s.shard
HAVING min(coalesce(p.idx, 0)) > s.trimmed_idx
 ORDER BY s.client, s.queue, s.shard

-- name: trim_shard
-- Removes the elements up to `upto` and notes it, in this order: the counter is locked last here, too. May run twice.
WITH trimmed AS (
    DELETE FROM elements
     WHERE client = %(client)s AND queue = %(queue)s AND shard = %(shard)s AND idx <= %(upto)s
    RETURNING 1
)
UPDATE shards
   SET trimmed_idx = greatest(trimmed_idx, %(upto)s)
 WHERE client = %(client)s AND queue = %(queue)s AND shard = %(shard)s AND (SELECT count(*) FROM trimmed) >= 0
