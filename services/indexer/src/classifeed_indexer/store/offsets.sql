-- name: add_offsets
-- A group that has never read a queue begins before its first element.
INSERT INTO offsets ("group", client, queue, shard, idx, moved_at)
SELECT %(group)s, %(client)s, queue, %(shard)s, 0, clock_timestamp() FROM unnest(%(queues)s::smallint[]) AS q (queue)
    ON CONFLICT ("group", client, queue, shard) DO NOTHING

-- name: list_offsets
SELECT queue, shard, idx FROM offsets WHERE "group" = %(group)s AND client = %(client)s

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

-- name: list_holders
SELECT name, holder, fence
  FROM leases
 WHERE name = ANY(%(names)s::text[]) AND expires_at > clock_timestamp() AND holder <> ''
