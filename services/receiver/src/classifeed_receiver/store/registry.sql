-- name: write_documents
-- One statement for the whole effect of a push, so that a push is one round trip (ADR 0010). It locks the rows of the
-- registry in the order given (sorted by hash and pk), then the counters of the shards in shard order, until the commit.
-- A row that is as fresh as its document, or fresher, is locked but not changed and not returned. A row of an abandoned
-- epoch is always replaced, and a damaged row also by an equal document (ADR 0092).
-- `count` is the number of documents: no shard gets more elements. The counters never fall below the clock, so that no
-- index is assigned twice, even after a restore (ADR 0030).
WITH written AS (
    INSERT INTO documents AS d (client, hash, pk, epoch, version, modify_timestamp, status, compression, expires_at,
                                stored_at, document, checksum)
    SELECT %(client)s, hash, pk, epoch, version, modify_timestamp, status, compression, expires_at,
           clock_timestamp(), document, checksum
      FROM unnest(%(hashes)s::bigint[], %(pks)s::text[], %(epochs)s::bigint[], %(versions)s::bigint[],
                  %(modify_timestamps)s::timestamptz[], %(statuses)s::smallint[], %(compressions)s::smallint[],
                  %(expires_at)s::timestamptz[], %(documents)b::bytea[], %(checksums)s::bigint[])
           WITH ORDINALITY AS n (hash, pk, epoch, version, modify_timestamp, status, compression, expires_at, document,
                                 checksum, place)
     ORDER BY place
        ON CONFLICT (client, hash, pk) DO UPDATE
       SET epoch = excluded.epoch, version = excluded.version, modify_timestamp = excluded.modify_timestamp,
           status = excluded.status, compression = excluded.compression, expires_at = excluded.expires_at,
           stored_at = excluded.stored_at, document = excluded.document, checksum = excluded.checksum
     WHERE (d.epoch, d.version, d.modify_timestamp) < (excluded.epoch, excluded.version, excluded.modify_timestamp)
        OR d.epoch = ANY(%(abandoned)s::bigint[])
        OR (d.status = 3 AND (d.epoch, d.version, d.modify_timestamp)
                             = (excluded.epoch, excluded.version, excluded.modify_timestamp))
    RETURNING hash, pk, epoch, version, modify_timestamp, (hash >> 58 & 63)::smallint AS shard
), counted AS (
    INSERT INTO shards AS s (client, queue, shard, last_idx)
    SELECT %(client)s, 1, shard, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + %(count)s
      FROM (SELECT DISTINCT shard FROM written) AS touched
     ORDER BY shard
        ON CONFLICT (client, queue, shard) DO UPDATE
       SET last_idx = greatest(s.last_idx, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + %(count)s
    RETURNING shard, last_idx
)
INSERT INTO elements (client, queue, shard, idx, hash, pk, epoch, version, modify_timestamp)
SELECT %(client)s, 1, shard, last_idx + 1 - row_number() OVER (PARTITION BY shard), hash, pk, epoch, version,
       modify_timestamp
  FROM written JOIN counted USING (shard)
RETURNING pk, shard, idx

-- name: trace_elements
-- Adds traces to elements of this transaction. Few elements have one, so the statement above does without this column.
UPDATE elements e
   SET traceparent = n.traceparent
  FROM unnest(%(shards)s::smallint[], %(idxs)s::bigint[], %(traceparents)s::text[]) AS n (shard, idx, traceparent)
 WHERE e.client = %(client)s AND e.queue = 1 AND e.shard = n.shard AND e.idx = n.idx

-- name: list_stored
-- The rows of some keys. A separate statement after write_documents, so that it sees the versions that won.
SELECT d.pk, d.epoch, d.version, d.modify_timestamp, d.status, d.compression, d.checksum, d.document
  FROM unnest(%(hashes)s::bigint[], %(pks)s::text[]) AS n (hash, pk)
  JOIN documents d ON d.client = %(client)s AND d.hash = n.hash AND d.pk = n.pk

-- name: count_damaged
-- The number of damaged rows of each client, and their first keys; both up to a bound.
SELECT client, count(*), (array_agg(pk ORDER BY hash, pk))[1:%(keys)s::int]
  FROM (SELECT client, hash, pk FROM documents WHERE status = 3 ORDER BY client, hash, pk LIMIT %(bound)s) AS damaged
 GROUP BY client

-- name: select_expired
-- Locks the next expired documents; those that another transaction has locked are left for the next round.
SELECT client, hash, pk
  FROM documents
 WHERE status = 1 AND expires_at IS NOT NULL AND expires_at <= clock_timestamp()
 ORDER BY expires_at
 LIMIT %(limit)s
   FOR UPDATE SKIP LOCKED

-- name: expire_documents
-- Turns documents of one client into tombstones of the same freshness, and appends an element for each, which deletes them
-- from the index. The content stays, so that a repeated push still compares equal.
WITH written AS (
    UPDATE documents d
       SET status = 2, stored_at = clock_timestamp()
      FROM unnest(%(hashes)s::bigint[], %(pks)s::text[]) AS n (hash, pk)
     WHERE d.client = %(client)s AND d.hash = n.hash AND d.pk = n.pk AND d.status = 1
    RETURNING d.hash, d.pk, d.epoch, d.version, d.modify_timestamp, (d.hash >> 58 & 63)::smallint AS shard
), counted AS (
    INSERT INTO shards AS s (client, queue, shard, last_idx)
    SELECT %(client)s, 1, shard, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + %(count)s
      FROM (SELECT DISTINCT shard FROM written) AS touched
     ORDER BY shard
        ON CONFLICT (client, queue, shard) DO UPDATE
       SET last_idx = greatest(s.last_idx, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + %(count)s
    RETURNING shard, last_idx
)
INSERT INTO elements (client, queue, shard, idx, hash, pk, epoch, version, modify_timestamp)
SELECT %(client)s, 1, shard, last_idx + 1 - row_number() OVER (PARTITION BY shard), hash, pk, epoch, version,
       modify_timestamp
  FROM written JOIN counted USING (shard)

-- name: delete_tombstones
-- Removes the oldest tombstones above an age. Rows that another transaction is replacing are skipped.
DELETE FROM documents d
 USING (SELECT client, hash, pk
          FROM documents
         WHERE status = 2 AND stored_at < clock_timestamp() - %(age_s)s * interval '1 second'
         ORDER BY stored_at
         LIMIT %(limit)s
           FOR UPDATE SKIP LOCKED) AS old
 WHERE d.client = old.client AND d.hash = old.hash AND d.pk = old.pk

-- name: count_abandoned
-- The number of a client's documents in abandoned epochs, up to a bound.
SELECT count(*)
  FROM (SELECT FROM documents
         WHERE client = %(client)s AND epoch = ANY(%(epochs)s::bigint[]) AND status = 1
         LIMIT %(bound)s) AS found

-- name: count_expired
-- The number of expired documents that are still live, up to a bound.
SELECT count(*)
  FROM (SELECT FROM documents
         WHERE status = 1 AND expires_at IS NOT NULL AND expires_at <= clock_timestamp()
         LIMIT %(bound)s) AS due
