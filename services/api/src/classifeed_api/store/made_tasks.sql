-- Uploads and removals whose tasks were created.

-- name: list_newest
-- A task's id comes from the clock, later than the removal's version, so it is at least that version.
SELECT DISTINCT ON (seller_id, namespace) seller_id, namespace, task_id, at_least, version
  FROM (SELECT seller_id, namespace, task_id, task_id AS at_least, version
          FROM uploads
         WHERE task_id IS NOT NULL AND version <= published_version
           AND created_at > clock_timestamp() - make_interval(days => %(days)s)
        UNION ALL
        SELECT seller_id, namespace, NULL, version, version
          FROM feed_deletions
         WHERE version <= published_version
           AND created_at > clock_timestamp() - make_interval(days => %(days)s)) AS made
 WHERE (seller_id, namespace) > (%(seller_id)s, %(namespace)s)
   AND NOT EXISTS (SELECT FROM feed f
                    WHERE f.seller_id = made.seller_id AND f.namespace = made.namespace AND f.status <> %(removed)s)
 ORDER BY seller_id, namespace, version DESC
 LIMIT %(limit)s

-- name: has_later
-- Queued, created, or between the two: its task may have an id already.
SELECT EXISTS (SELECT FROM uploads
                WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND version > %(version)s)
    OR EXISTS (SELECT FROM feed_deletions
                WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND version > %(version)s)

-- name: forget_uploads
UPDATE uploads SET published_version = 0, task_id = NULL
 WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id > %(known)s AND version <= published_version
   AND created_at > clock_timestamp() - make_interval(days => %(days)s)

-- name: forget_deletions
UPDATE feed_deletions SET published_version = 0
 WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND version > %(known)s AND version <= published_version
   AND created_at > clock_timestamp() - make_interval(days => %(days)s)
