-- name: scan_documents
-- The next live documents of a shard in the order of their keys, up to a size.
SELECT hash, pk, epoch, version, modify_timestamp, status, compression, checksum, document
  FROM (SELECT hash, pk, epoch, version, modify_timestamp, status, compression, checksum, document,
               sum(octet_length(document))
                   OVER (ORDER BY hash, pk ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
          FROM (SELECT hash, pk, epoch, version, modify_timestamp, status, compression, checksum, document
                  FROM documents
                 WHERE client = %(client)s AND hash BETWEEN %(after_hash)s AND %(last_hash)s
                   AND (hash, pk) > (%(after_hash)s, %(after_pk)s) AND status = 1 AND epoch = %(epoch)s
                 ORDER BY hash, pk
                 LIMIT %(limit)s) AS next
       ) AS sized
 WHERE coalesce(bytes_before, 0) <= %(size_bytes)s
 ORDER BY hash, pk

-- name: sum_digests
-- Digests of the live documents of some shards, with the same steps as classifeed_domain.document_digest. OFFSET 0 keeps
-- the steps separate; a merged query would compute the inner steps eight times.
SELECT s.shard, count(d.a), coalesce(sum(d.a), 0)::bigint, coalesce(sum(d.b), 0)::bigint
  FROM unnest(%(shards)s::smallint[], %(first_hashes)s::bigint[], %(last_hashes)s::bigint[])
       AS s (shard, first_hash, last_hash)
  LEFT JOIN LATERAL (
       SELECT (low # (low >> 16)) * 739982445 & 4294967295 AS a, (high # (high >> 16)) * 1540483477 & 4294967295 AS b
         FROM (SELECT (hash & 4294967295) # (spread * 73244475 & 4294967295) AS low,
                      (hash >> 32 & 4294967295) # (spread * 695872825 & 4294967295) AS high
                 FROM (SELECT hash, folded # (folded >> 16) AS spread
                         FROM (SELECT hash, (version # (version >> 32)) & 4294967295 AS folded
                                 FROM documents
                                WHERE client = %(client)s AND hash BETWEEN s.first_hash AND s.last_hash AND status = 1
                                  AND epoch = %(epoch)s
                               OFFSET 0) AS live
                        OFFSET 0) AS spread_out
                OFFSET 0) AS mixed
       ) AS d ON true
 GROUP BY s.shard

-- name: list_failed
-- Live documents of some shards whose stored version is in the queue `failed`.
SELECT DISTINCT e.shard, e.pk, e.version
  FROM unnest(%(shards)s::smallint[]) AS s (shard)
  JOIN elements e ON e.client = %(client)s AND e.queue = 3 AND e.shard = s.shard
  JOIN documents d
    ON d.client = e.client AND d.hash = e.hash AND d.pk = e.pk AND d.epoch = e.epoch AND d.version = e.version
       AND d.modify_timestamp = e.modify_timestamp
 WHERE d.status = 1 AND d.epoch = %(epoch)s
 ORDER BY e.shard, e.pk

-- name: list_documents
-- Keys and versions of a client's next documents, tombstones included, in the order of the primary key.
SELECT pk, epoch, version, modify_timestamp, status = 2 AS is_removed
  FROM documents
 WHERE client = %(client)s AND (hash, pk) > (%(after_hash)s, %(after_pk)s)
 ORDER BY hash, pk
 LIMIT %(limit)s
