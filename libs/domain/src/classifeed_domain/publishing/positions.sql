-- The newest element of each shard that the receiver has acknowledged.

-- name: select_positions
SELECT shard, idx FROM published_positions ORDER BY shard

-- name: write_positions
INSERT INTO published_positions AS p (shard, idx)
SELECT shard, idx FROM unnest(%(shards)s::smallint[], %(idxs)s::bigint[]) AS n (shard, idx)
 ORDER BY shard
    ON CONFLICT (shard) DO UPDATE SET idx = greatest(p.idx, excluded.idx)

-- name: forget_positions
-- Deletes all positions if this one is still stored. If it is gone, another process has handled the loss already.
DELETE FROM published_positions
 WHERE EXISTS (SELECT FROM published_positions WHERE shard = %(shard)s AND idx = %(idx)s)
