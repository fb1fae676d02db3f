-- name: add_offsets
-- A group that has not read a queue of a shard yet begins before its first element.
INSERT INTO offsets ("group", client, queue, shard, idx, moved_at)
SELECT %(group)s, %(client)s, queue, %(shard)s, 0, clock_timestamp() FROM unnest(%(queues)s::smallint[]) AS q (queue)
    ON CONFLICT ("group", client, queue, shard) DO NOTHING

-- name: select_offsets
SELECT queue, shard, idx FROM offsets WHERE "group" = %(group)s AND client = %(client)s

-- name: hold_leases
-- Which leases are still ours. Locked until the end of the transaction, so that nobody takes a shard over before our
-- offsets are committed; the same lock as Leases.guard takes for one.
SELECT l.name
  FROM unnest(%(names)s::text[], %(holders)s::text[], %(fences)s::bigint[]) AS ours (name, holder, fence)
  JOIN leases l ON l.name = ours.name AND l.holder = ours.holder AND l.fence = ours.fence
 WHERE l.expires_at > clock_timestamp()
   FOR KEY SHARE OF l

-- name: move_offsets
-- Compare and set: an offset that somebody else has moved stays where it is, and does not come back.
UPDATE offsets o
   SET idx = n.idx, moved_at = clock_timestamp()
  FROM unnest(%(queues)s::smallint[], %(shards)s::smallint[], %(expected)s::bigint[], %(idxs)s::bigint[])
       AS n (queue, shard, expected, idx)
 WHERE o."group" = %(group)s AND o.client = %(client)s AND o.queue = n.queue AND o.shard = n.shard
   AND o.idx = n.expected AND n.idx > n.expected
RETURNING o.queue, o.shard

-- name: reposition
-- Compare and set, to wherever the queue goes on: also back, where the queue itself went back.
UPDATE offsets
   SET idx = %(idx)s, moved_at = clock_timestamp()
 WHERE "group" = %(group)s AND client = %(client)s AND queue = %(queue)s AND shard = %(shard)s AND idx = %(expected)s

-- name: request_refills
-- One that is under way begins anew: what it has put into the queue may be what was lost.
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
-- Compare and set: a request that was made anew meanwhile stays at its begin.
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
