-- name: list_shards
-- Ends of each shard of each queue.
SELECT queue, shard, last_idx, trimmed_idx FROM shards WHERE client = %(client)s

-- name: list_ends
-- Ends of each shard of each queue, and the offset that a group has reported; without a group the highest offset.
SELECT s.queue, s.shard, s.last_idx, s.trimmed_idx, coalesce(max(p.idx), 0)
  FROM shards s
  LEFT JOIN progress p
    ON p.client = s.client AND p.queue = s.queue AND p.shard = s.shard AND %(group)s::text IN ('', p."group")
 WHERE s.client = %(client)s
 GROUP BY s.queue, s.shard, s.last_idx, s.trimmed_idx
 ORDER BY s.queue, s.shard

-- name: list_elements
-- The next elements after some cursors, with their documents; the document is NULL if another version is stored, or none.
-- Rows come in rounds of one element per cursor, until the size of the documents is reached. So each cursor gets a prefix
-- of its elements, and no shard waits for another. Each row also has the shard's trimmed index, and whether its cursor is
-- known (trimmed last, or still an element), from the same snapshot.
WITH cursors AS MATERIALIZED (
    SELECT c.queue, c.shard, c.idx, s.trimmed_idx,
           c.idx = s.trimmed_idx OR EXISTS (SELECT FROM elements e
                                             WHERE e.client = %(client)s AND e.queue = c.queue AND e.shard = c.shard
                                               AND e.idx = c.idx) AS is_known
      FROM unnest(%(queues)s::smallint[], %(shards)s::smallint[], %(idxs)s::bigint[]) AS c (queue, shard, idx)
      JOIN shards s ON s.client = %(client)s AND s.queue = c.queue AND s.shard = c.shard
)
SELECT queue, shard, idx, pk, element_version, traceparent, trimmed_idx, is_known, epoch, version, modify_timestamp,
       status, compression, checksum, document
  FROM (SELECT e.queue, e.shard, e.idx, e.pk, e.version AS element_version, e.traceparent, e.round, c.trimmed_idx,
               c.is_known,
               d.epoch, d.version, d.modify_timestamp, d.status, d.compression, d.checksum, d.document,
               sum(coalesce(octet_length(d.document), 0) + 64)
                   OVER (ORDER BY e.round, e.queue, e.shard ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
               AS bytes_before
          FROM cursors AS c
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

-- name: list_unknown_cursors
-- The cursors that cannot come from this table: beyond the end of their queue, or neither trimmed nor an element. They were
-- read before the table was restored from a backup.
SELECT c.queue, c.shard, c.idx, coalesce(s.last_idx, 0), coalesce(s.trimmed_idx, 0)
  FROM unnest(%(queues)s::smallint[], %(shards)s::smallint[], %(idxs)s::bigint[]) AS c (queue, shard, idx)
  LEFT JOIN shards s ON s.client = %(client)s AND s.queue = c.queue AND s.shard = c.shard
 WHERE c.idx > coalesce(s.trimmed_idx, 0) AND c.idx IS DISTINCT FROM s.last_idx
   AND NOT EXISTS (SELECT FROM elements e
                    WHERE e.client = %(client)s AND e.queue = c.queue AND e.shard = c.shard AND e.idx = c.idx)
 ORDER BY c.queue, c.shard

-- name: note_failures
-- Stores the reason of each failed element once. An element that is trimmed or has another key is left out: the reader
-- that reports it is out of date.
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
-- Appends elements of note_failures to the queue `failed`. Counters are locked last and in shard order, as in a push.
WITH noted AS (
    SELECT e.*, row_number() OVER (PARTITION BY e.shard ORDER BY e.queue DESC, e.idx DESC) AS rank
      FROM unnest(%(queues)s::smallint[], %(shards)s::smallint[], %(idxs)s::bigint[]) AS n (queue, shard, idx)
      JOIN elements e ON e.client = %(client)s AND e.queue = n.queue AND e.shard = n.shard AND e.idx = n.idx
), counted AS (
    INSERT INTO shards AS s (client, queue, shard, last_idx)
    SELECT %(client)s, 3, shard, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + %(count)s
      FROM (SELECT DISTINCT shard FROM noted) AS touched
     ORDER BY shard
        ON CONFLICT (client, queue, shard) DO UPDATE
       SET last_idx = greatest(s.last_idx, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + %(count)s
    RETURNING shard, last_idx
), placed AS (
    SELECT n.*, c.last_idx + 1 - n.rank AS failed_idx FROM noted n JOIN counted c USING (shard)
), linked AS (
    UPDATE failures f
       SET failed_idx = p.failed_idx
      FROM placed p
     WHERE f.client = p.client AND f.queue = p.queue AND f.shard = p.shard AND f.idx = p.idx
)
INSERT INTO elements (client, queue, shard, idx, hash, pk, epoch, version, modify_timestamp)
SELECT client, 3, shard, failed_idx, hash, pk, epoch, version, modify_timestamp FROM placed

-- name: refill
-- Appends the next documents of a shard to the queue `emergency`, in the order of their keys. The counter is locked last,
-- as in a push. Damaged rows are left out. Documents are not locked: if one changes meanwhile, readers skip its element.
WITH chosen AS (
    SELECT hash, pk, epoch, version, modify_timestamp, row_number() OVER (ORDER BY hash, pk) AS place
      FROM documents
     WHERE client = %(client)s AND hash BETWEEN %(after_hash)s AND %(last_hash)s
       AND (hash, pk) > (%(after_hash)s, %(after_pk)s) AND status <> 3
     ORDER BY hash, pk
     LIMIT %(limit)s
), counted AS (
    INSERT INTO shards AS s (client, queue, shard, last_idx)
    SELECT %(client)s, 2, %(shard)s, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + %(limit)s FROM chosen LIMIT 1
        ON CONFLICT (client, queue, shard) DO UPDATE
       SET last_idx = greatest(s.last_idx, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + %(limit)s
    RETURNING last_idx
), appended AS (
    INSERT INTO elements (client, queue, shard, idx, hash, pk, epoch, version, modify_timestamp)
    SELECT %(client)s, 2, %(shard)s, last_idx - (SELECT count(*) FROM chosen) + place, hash, pk, epoch, version,
           modify_timestamp
      FROM chosen CROSS JOIN counted
)
SELECT c.hash, c.pk, (SELECT count(*) FROM chosen), counted.last_idx
  FROM chosen c CROSS JOIN counted
 ORDER BY c.place DESC
 LIMIT 1

-- name: report_progress
-- A group's cursors only move forward; each report also shows that the group is active.
INSERT INTO progress AS p (client, "group", queue, shard, idx, reported_at)
SELECT %(client)s, %(group)s, queue, shard, max(idx), clock_timestamp()
  FROM unnest(%(queues)s::smallint[], %(shards)s::smallint[], %(idxs)s::bigint[]) AS c (queue, shard, idx)
 GROUP BY queue, shard
 ORDER BY queue, shard
    ON CONFLICT (client, "group", queue, shard) DO UPDATE
   SET idx = greatest(p.idx, excluded.idx), reported_at = excluded.reported_at

-- name: list_trimmable
-- The index below which each shard may be trimmed: the lowest cursor of the active groups. The element at a cursor stays,
-- because it proves that the cursor belongs to this table. A group without a report for a shard has read nothing of it.
-- Without an active group, nothing is trimmed.
WITH living AS (
    SELECT client, "group"
      FROM progress
     GROUP BY client, "group"
    HAVING max(reported_at) > clock_timestamp() - %(group_lifetime_s)s * interval '1 second'
), passed AS (
    SELECT s.client, s.queue, s.shard, min(coalesce(p.idx, 0)) AS below
      FROM shards s
      JOIN living l USING (client)
      LEFT JOIN progress p
        ON p.client = s.client AND p."group" = l."group" AND p.queue = s.queue AND p.shard = s.shard
     GROUP BY s.client, s.queue, s.shard
)
SELECT client, queue, shard, below
  FROM passed p
 WHERE EXISTS (SELECT FROM elements e
                WHERE e.client = p.client AND e.queue = p.queue AND e.shard = p.shard AND e.idx < p.below)
 ORDER BY client, queue, shard

-- name: trim_shard
-- Removes the first elements of a shard that are below `below`, then stores the index of the last of them: the counter is
-- locked last here, too. Idempotent.
WITH chosen AS (
    SELECT max(idx) AS upto
      FROM (SELECT idx
              FROM elements
             WHERE client = %(client)s AND queue = %(queue)s AND shard = %(shard)s AND idx < %(below)s
             ORDER BY idx
             LIMIT %(limit)s) AS first
), trimmed AS (
    DELETE FROM elements
     WHERE client = %(client)s AND queue = %(queue)s AND shard = %(shard)s AND idx <= (SELECT upto FROM chosen)
    RETURNING 1
)
UPDATE shards
   SET trimmed_idx = greatest(trimmed_idx, (SELECT upto FROM chosen))
 WHERE client = %(client)s AND queue = %(queue)s AND shard = %(shard)s AND (SELECT count(*) FROM trimmed) > 0

-- name: forget_failed
-- Removes old elements of the queue `failed`, with their reasons. If the stored version of a document failed, its newest
-- element stays, because digests use it to leave the document out. `trimmed_idx` does not change: a reader begins at 0 and
-- finds the remaining elements. Runs seldom, because it reads the whole queue of each shard.
WITH old AS MATERIALIZED (
    SELECT e.client, e.shard, e.idx
      FROM shards s
     CROSS JOIN LATERAL (
           SELECT client, queue, shard, idx, hash, pk, epoch, version, modify_timestamp,
                  idx = max(idx) OVER (PARTITION BY hash, pk) AS is_newest
             FROM elements
            WHERE client = s.client AND queue = s.queue AND shard = s.shard) AS e
     WHERE s.queue = 3
       AND e.idx < ((extract(epoch FROM clock_timestamp()) - %(age_s)s) * 1000000)::bigint
       AND NOT (e.is_newest AND 1 = (  -- not EXISTS, which would be hashed over all documents
           SELECT count(*) FROM documents d
            WHERE d.client = e.client AND d.hash = e.hash AND d.pk = e.pk AND d.status = 1 AND d.epoch = e.epoch
              AND d.version = e.version AND d.modify_timestamp = e.modify_timestamp))
     LIMIT %(limit)s
), reasons AS (
    DELETE FROM failures f USING old o WHERE f.client = o.client AND f.shard = o.shard AND f.failed_idx = o.idx
)
DELETE FROM elements e USING old o WHERE e.client = o.client AND e.queue = 3 AND e.shard = o.shard AND e.idx = o.idx
