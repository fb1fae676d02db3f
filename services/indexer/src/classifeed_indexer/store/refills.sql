-- name: request_refills
-- A refill in progress is restarted: the lost elements may be its own.
INSERT INTO refills ("group", client, shard, reason, requested_at)
SELECT %(group)s, %(client)s, shard, %(reason)s, clock_timestamp()
  FROM unnest(%(shards)s::smallint[]) AS wanted (shard)
 ORDER BY shard
    ON CONFLICT ("group", client, shard) DO UPDATE
   SET reason = excluded.reason, requested_at = excluded.requested_at, after_hash = NULL, after_pk = NULL,
       last_idx = 0, documents = 0, is_scanned = false

-- name: list_refills
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
