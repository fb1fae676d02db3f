-- Uploads and feeds whose retention has ended.

-- name: list_unstored
-- Uploads whose process died before their file was stored.
SELECT upload_id FROM uploads WHERE NOT stored AND created_at < %(before)s ORDER BY created_at LIMIT %(limit)s

-- name: list_loaded
-- The next uploads by id that have a task and are not among the newest of their namespace. Uploads from before a
-- removal of the namespace are listed, too, even if they are among the newest.
SELECT upload_id, seller_id, namespace, task_id
FROM (SELECT u.upload_id, u.seller_id, u.namespace, u.task_id, u.version, u.published_version,
             row_number() OVER (PARTITION BY u.seller_id, u.namespace ORDER BY u.version DESC) AS place,
             f.status = %(removed)s AND u.version < f.version AS is_removed
      FROM uploads u LEFT JOIN feed f USING (seller_id, namespace)
      WHERE u.stored) AS u
WHERE (place > %(kept)s OR is_removed) AND task_id IS NOT NULL AND version <= published_version AND upload_id > %(after)s
ORDER BY upload_id
LIMIT %(limit)s

-- name: delete_uploads
DELETE FROM uploads WHERE upload_id = ANY(%(upload_ids)s::uuid[])

-- name: delete_deletions
DELETE FROM feed_deletions
WHERE ctid = ANY(ARRAY(SELECT ctid FROM feed_deletions
                       WHERE created_at < %(before)s AND version <= published_version LIMIT %(limit)s))

-- name: find_removed_feed
-- The row stays while uploads from before the removal are kept: only the row shows that the namespace was removed.
SELECT seller_id, namespace FROM feed f
WHERE status = %(removed)s AND updated_at < %(before)s AND (version <= published_version OR NOT has_link)
  AND NOT EXISTS (SELECT FROM uploads u
                  WHERE u.seller_id = f.seller_id AND u.namespace = f.namespace AND u.stored AND u.version < f.version)
ORDER BY updated_at
LIMIT 1

-- name: delete_removed_feed
-- If the feed is created again, its version comes from the clock, so it is above the deleted one.
DELETE FROM feed
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND status = %(removed)s AND updated_at < %(before)s
  AND (version <= published_version OR NOT has_link)
