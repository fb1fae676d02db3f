-- The task queue of a namespace: uploads and removals of its feed, in the order in which they were acknowledged.

-- name: lock_namespace
-- Statements after this one see the changes of all transactions that held the lock before.
SELECT pg_advisory_xact_lock(hashtextextended('namespace/' || %(seller_id)s || '/' || %(namespace)s, 0))

-- name: next_place
-- After all waiting entries, even if the clock has stepped back.
SELECT greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, %(above)s::bigint + 1,
                (SELECT max(version) + 1 FROM uploads
                  WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND version > published_version),
                (SELECT max(version) + 1 FROM feed_deletions
                  WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND version > published_version))

-- name: list_waiting_dispositions
SELECT DISTINCT disposition
FROM feed_deletions
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND version > published_version

-- name: insert_deletion
INSERT INTO feed_deletions (seller_id, namespace, version, published_version, disposition, created_at, trace_context)
VALUES (%(seller_id)s, %(namespace)s, %(version)s, 0, %(disposition)s, clock_timestamp(), %(trace_context)s)

-- name: select_due
-- Only the first entry of each queue, so that an entry that is retried after a failure is never overtaken.
SELECT task_key, upload_id, seller_id, namespace, mode, disposition, file_name, sha256, size_bytes, task_id, created_at,
       allow_removals, default_currency, allow_changes, version, trace_context
  FROM (SELECT DISTINCT ON (seller_id, namespace) *
          FROM (SELECT upload_id::text AS task_key, upload_id, seller_id, namespace, mode, disposition, file_name,
                       sha256, size_bytes, task_id, created_at, allow_removals, default_currency, allow_changes,
                       version, trace_context
                  FROM uploads
                 WHERE version > published_version
                UNION ALL
                SELECT seller_id || '/' || namespace, NULL, seller_id, namespace, NULL, disposition, NULL, NULL, NULL,
                       NULL, created_at, NULL, NULL, NULL, version, trace_context
                  FROM feed_deletions
                 WHERE version > published_version) AS waiting
         ORDER BY seller_id, namespace, version) AS first
 ORDER BY version
 LIMIT %(limit)s

-- name: count_due
SELECT (SELECT count(*) FROM uploads WHERE version > published_version)
     + (SELECT count(*) FROM feed_deletions WHERE version > published_version)

-- name: advance_published
WITH pushed AS (
    SELECT * FROM unnest(%(upload_ids)s::uuid[], %(seller_ids)s::text[], %(namespaces)s::text[], %(versions)s::bigint[])
                  AS d (upload_id, seller_id, namespace, version)
), pushed_deletions AS (
    UPDATE feed_deletions f
       SET published_version = d.version
      FROM pushed d
     WHERE d.upload_id IS NULL AND f.seller_id = d.seller_id AND f.namespace = d.namespace AND f.version = d.version
       AND f.published_version < d.version
)
UPDATE uploads u
   SET published_version = d.version
  FROM pushed d
 WHERE u.upload_id = d.upload_id AND u.published_version < d.version
