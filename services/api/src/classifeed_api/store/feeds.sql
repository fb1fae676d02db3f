-- name: find_feed
SELECT seller_id, namespace, version, status, settings, sealed_credentials, request_id, created_at, updated_at
  FROM feed
 WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s

-- name: find_uploads
-- The uploads to a namespace without a feed by link since its last removal.
SELECT u.seller_id, u.namespace, max(u.version), %(active)s::smallint, ''::bytea, ''::bytea, NULL::text, min(u.created_at),
       max(u.created_at)
  FROM uploads u
 WHERE u.seller_id = %(seller_id)s AND u.namespace = %(namespace)s AND u.stored AND u.version > %(after)s
 GROUP BY u.seller_id, u.namespace

-- name: newest_upload
SELECT coalesce(max(version), 0) FROM uploads
 WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND stored

-- name: list_feeds
-- Feeds by link, and namespaces that are filled by uploads only, each once.
SELECT *
  FROM (SELECT seller_id, namespace, version, status, settings, sealed_credentials, request_id, created_at, updated_at
          FROM feed
         WHERE seller_id = %(seller_id)s AND namespace > %(after)s AND status <> %(removed)s
        UNION ALL
        SELECT u.seller_id, u.namespace, max(u.version), %(active)s::smallint, ''::bytea, ''::bytea, NULL::text,
               min(u.created_at), max(u.created_at)
          FROM uploads u LEFT JOIN feed f USING (seller_id, namespace)
         WHERE u.seller_id = %(seller_id)s AND u.namespace > %(after)s AND u.stored
           AND (f.status IS NULL OR f.status = %(removed)s AND u.version > f.version)
         GROUP BY u.seller_id, u.namespace) AS filled
 ORDER BY namespace
 LIMIT %(limit)s

-- name: insert_removed
-- The removed feed of a namespace that was filled by uploads only. It is never sent to the loader.
INSERT INTO feed (seller_id, namespace, version, published_version, status, settings, sealed_credentials, request_id,
                  created_at, updated_at, has_link)
VALUES (%(seller_id)s, %(namespace)s, %(version)s, %(version)s, %(removed)s, ''::bytea, ''::bytea, NULL,
        statement_timestamp(), statement_timestamp(), false)
RETURNING seller_id, namespace, version, status, settings, sealed_credentials, request_id, created_at, updated_at

-- name: insert_feed
INSERT INTO feed (seller_id, namespace, version, published_version, status, settings, sealed_credentials, request_id,
                  created_at, updated_at)
VALUES (%(seller_id)s, %(namespace)s, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0, %(status)s,
        %(settings)s, %(sealed_credentials)s, %(request_id)s, statement_timestamp(), statement_timestamp())
RETURNING seller_id, namespace, version, status, settings, sealed_credentials, request_id, created_at, updated_at

-- name: update_feed
-- The new version is above the old one and at least `at_least`.
UPDATE feed
   SET version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, %(at_least)s::bigint),
       status = %(status)s, settings = %(settings)s, sealed_credentials = %(sealed_credentials)s,
       request_id = %(request_id)s, updated_at = clock_timestamp(), has_link = %(has_link)s
 WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s
RETURNING seller_id, namespace, version, status, settings, sealed_credentials, request_id, created_at, updated_at

-- name: select_due
-- Feeds by link whose version the loader has not acknowledged, oldest change first.
SELECT seller_id || '/' || namespace AS feed_key, seller_id, namespace, version, status, settings, sealed_credentials,
       request_id, created_at, updated_at
  FROM feed
 WHERE version > published_version AND has_link
 ORDER BY version
 LIMIT %(limit)s

-- name: advance_published
UPDATE feed f
   SET published_version = d.version
  FROM unnest(%(seller_ids)s::text[], %(namespaces)s::text[], %(versions)s::bigint[])
       AS d (seller_id, namespace, version)
 WHERE f.seller_id = d.seller_id AND f.namespace = d.namespace AND f.published_version < d.version

-- name: list_published
-- Feeds whose version the loader has acknowledged.
SELECT seller_id, namespace, version
  FROM feed
 WHERE (seller_id, namespace) > (%(seller_id)s, %(namespace)s) AND version = published_version AND has_link
 ORDER BY seller_id, namespace
 LIMIT %(limit)s

-- name: list_behind
-- Feeds whose version here is below the given one.
SELECT f.seller_id, f.namespace, f.version
  FROM unnest(%(seller_ids)s::text[], %(namespaces)s::text[], %(versions)s::bigint[])
       AS d (seller_id, namespace, version)
  JOIN feed f ON f.seller_id = d.seller_id AND f.namespace = d.namespace
 WHERE f.version < d.version

-- name: list_unknown
SELECT d.seller_id, d.namespace
  FROM unnest(%(seller_ids)s::text[], %(namespaces)s::text[]) AS d (seller_id, namespace)
 WHERE NOT EXISTS (SELECT FROM feed f WHERE f.seller_id = d.seller_id AND f.namespace = d.namespace)

-- name: forget_published
-- A feed that has changed meanwhile is skipped: it is due anyway.
UPDATE feed f
   SET published_version = 0
  FROM unnest(%(seller_ids)s::text[], %(namespaces)s::text[], %(versions)s::bigint[])
       AS d (seller_id, namespace, version)
 WHERE f.seller_id = d.seller_id AND f.namespace = d.namespace AND f.version = d.version

-- name: list_unreadable
-- The first feeds whose credentials begin with none of `prefixes`, and the total number of such feeds.
SELECT seller_id, namespace, count(*) OVER ()
  FROM feed
 WHERE sealed_credentials <> ''::bytea AND status <> %(removed)s
   AND substr(sealed_credentials, 1, %(length)s) <> ALL(%(prefixes)s::bytea[])
 ORDER BY seller_id, namespace
 LIMIT %(limit)s
