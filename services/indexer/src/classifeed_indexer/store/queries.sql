-- name: add_offsets
-- A group that has never read a queue begins before its first element.
INSERT INTO offsets ("group", client, queue, shard, idx, moved_at)
SELECT %(group)s, %(client)s, queue, %(shard)s, 0, clock_timestamp() FROM unnest(%(queues)s::smallint[]) AS q (queue)
    ON CONFLICT ("group", client, queue, shard) DO NOTHING

-- name: select_offsets
SELECT queue, shard, idx FROM offsets WHERE "group" = %(group)s AND client = %(client)s

-- name: hold_leases
-- Select the leases that are still ours, and lock them until the transaction ends: no process takes a shard over before
-- our offsets are committed. Leases.guard takes the same lock for one lease.
SELECT l.name
  FROM unnest(%(names)s::text[], %(holders)s::text[], %(fences)s::bigint[]) AS ours (name, holder, fence)
  JOIN leases l ON l.name = ours.name AND l.holder = ours.holder AND l.fence = ours.fence
 WHERE l.expires_at > clock_timestamp()
   FOR KEY SHARE OF l

-- name: move_offsets
-- Compare and set: an offset that another process has moved is not moved back.
UPDATE offsets o
   SET idx = n.idx, moved_at = clock_timestamp()
  FROM unnest(%(queues)s::smallint[], %(shards)s::smallint[], %(expected)s::bigint[], %(idxs)s::bigint[])
       AS n (queue, shard, expected, idx)
 WHERE o."group" = %(group)s AND o.client = %(client)s AND o.queue = n.queue AND o.shard = n.shard
   AND o.idx = n.expected AND n.idx > n.expected
RETURNING o.queue, o.shard

-- name: reposition
-- Compare and set. The new offset may be lower, if the queue itself went back.
UPDATE offsets
   SET idx = %(idx)s, moved_at = clock_timestamp()
 WHERE "group" = %(group)s AND client = %(client)s AND queue = %(queue)s AND shard = %(shard)s AND idx = %(expected)s

-- name: request_refills
-- A refill in progress is restarted: the lost elements may be its own.
INSERT INTO refills ("group", client, shard, reason, requested_at)
SELECT %(group)s, %(client)s, shard, %(reason)s, clock_timestamp()
  FROM unnest(%(shards)s::smallint[]) AS wanted (shard)
 ORDER BY shard
    ON CONFLICT ("group", client, shard) DO UPDATE
   SET reason = excluded.reason, requested_at = excluded.requested_at, after_hash = NULL, after_pk = NULL,
       last_idx = 0, documents = 0, is_scanned = false

-- name: select_refills
SELECT shard, reason, requested_at, after_hash, after_pk, last_idx, documents, is_scanned
  FROM refills
 WHERE "group" = %(group)s AND client = %(client)s
 ORDER BY shard

-- name: advance_refill
-- Compare and set: a refill that was requested again meanwhile keeps its starting position.
UPDATE refills
   SET after_hash = %(after_hash)s, after_pk = %(after_pk)s, last_idx = %(last_idx)s, documents = documents + %(documents)s,
       is_scanned = %(is_scanned)s
 WHERE "group" = %(group)s AND client = %(client)s AND shard = %(shard)s AND requested_at = %(requested_at)s

-- name: finish_refill
DELETE FROM refills
 WHERE "group" = %(group)s AND client = %(client)s AND shard = %(shard)s AND requested_at = %(requested_at)s

-- name: select_holders
SELECT name, holder, fence
  FROM leases
 WHERE name = ANY(%(names)s::text[]) AND expires_at > clock_timestamp() AND holder <> ''
