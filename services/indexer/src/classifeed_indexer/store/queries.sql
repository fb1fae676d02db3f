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

-- name: select_holders
SELECT name, holder, fence
  FROM leases
 WHERE name = ANY(%(names)s::text[]) AND expires_at > clock_timestamp() AND holder <> ''
