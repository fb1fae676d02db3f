-- Sources: links and their schedules.

-- name: put_sources
-- A source is stored unless a newer version of it is known. A change of link, credentials, format or currency discards
-- etag and last_modified, so that the next request is unconditional. A new or resumed source, and one whose fetch or
-- load settings changed, is due at once. If only its interval changed, the source is due after the new interval at the
-- latest.
WITH sent AS (
    SELECT DISTINCT ON (s.seller_id, s.namespace) s.*
    FROM unnest(%(seller_ids)s::text[], %(namespaces)s::text[], %(feed_versions)s::bigint[], %(statuses)s::smallint[],
                %(urls)s::text[], %(credentials)s::bytea[], %(intervals_s)s::float8[], %(modes)s::smallint[],
                %(dispositions)s::smallint[], %(formats)s::text[], %(currencies)s::text[])
         AS s(seller_id, namespace, feed_version, status, url, sealed_credentials, interval_s, mode, disposition, format,
              default_currency)
    ORDER BY s.seller_id, s.namespace, s.feed_version DESC
)
INSERT INTO feed_loader_task AS t (seller_id, namespace, feed_version, status, url, sealed_credentials, interval_s, mode,
                                   disposition, format, default_currency, next_due_at)
SELECT s.seller_id, s.namespace, s.feed_version, s.status, s.url, s.sealed_credentials, s.interval_s, s.mode,
       s.disposition, s.format, s.default_currency, CASE WHEN s.status = %(active)s THEN clock_timestamp() END
FROM sent s
ORDER BY s.seller_id, s.namespace
ON CONFLICT (seller_id, namespace) DO UPDATE
SET feed_version = excluded.feed_version, status = excluded.status, url = excluded.url,
    sealed_credentials = excluded.sealed_credentials, interval_s = excluded.interval_s, mode = excluded.mode,
    disposition = excluded.disposition, format = excluded.format, default_currency = excluded.default_currency,
    etag = CASE WHEN (t.url, t.sealed_credentials, t.format, t.default_currency)
                     = (excluded.url, excluded.sealed_credentials, excluded.format, excluded.default_currency)
                THEN t.etag ELSE '' END,
    last_modified = CASE WHEN (t.url, t.sealed_credentials, t.format, t.default_currency)
                              = (excluded.url, excluded.sealed_credentials, excluded.format, excluded.default_currency)
                         THEN t.last_modified ELSE '' END,
    last_hash = CASE WHEN (t.url, t.sealed_credentials, t.format, t.default_currency)
                          = (excluded.url, excluded.sealed_credentials, excluded.format, excluded.default_currency)
                     THEN t.last_hash ELSE '' END,
    last_bytes = CASE WHEN (t.url, t.sealed_credentials, t.format, t.default_currency)
                           = (excluded.url, excluded.sealed_credentials, excluded.format, excluded.default_currency)
                      THEN t.last_bytes ELSE 0 END,
    failures = CASE WHEN (t.url, t.sealed_credentials) = (excluded.url, excluded.sealed_credentials)
                    THEN t.failures ELSE 0 END,
    next_due_at = CASE
        WHEN excluded.status <> %(active)s THEN NULL
        WHEN t.next_due_at IS NULL
             OR (t.url, t.sealed_credentials, t.format, t.default_currency, t.mode, t.disposition)
                <> (excluded.url, excluded.sealed_credentials, excluded.format, excluded.default_currency, excluded.mode,
                    excluded.disposition)
            THEN clock_timestamp()
        ELSE least(t.next_due_at, clock_timestamp()
                                  + greatest(excluded.interval_s, %(min_interval_s)s) * interval '1 second') END,
    updated_at = clock_timestamp()
WHERE excluded.feed_version > t.feed_version

-- name: known_versions
SELECT t.feed_version
FROM unnest(%(seller_ids)s::text[], %(namespaces)s::text[]) WITH ORDINALITY AS wanted(seller_id, namespace, rank)
JOIN feed_loader_task t ON t.seller_id = wanted.seller_id AND t.namespace = wanted.namespace
ORDER BY wanted.rank

-- name: find_source
SELECT feed_version, status FROM feed_loader_task WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s

-- name: list_states
-- The source of each name with its newest fetch; nulls if it is unknown.
SELECT t.feed_version AS source_version, t.last_fetched_at, t.next_due_at, t.failures,
       f.seller_id, f.namespace, f.feed_loader_result_id, f.feed_version, f.trigger, f.forced, f.outcome, f.code, f.message,
       f.http_status, f.bytes, f.sha256, f.final_url, f.task, f.created_at, f.started_at, f.downloaded_at, f.ended_at
FROM unnest(%(seller_ids)s::text[], %(namespaces)s::text[]) WITH ORDINALITY AS wanted(seller_id, namespace, rank)
LEFT JOIN feed_loader_task t ON t.seller_id = wanted.seller_id AND t.namespace = wanted.namespace
LEFT JOIN LATERAL (
    SELECT * FROM feed_fetches n
    WHERE n.seller_id = t.seller_id AND n.namespace = t.namespace
    ORDER BY n.feed_loader_result_id DESC LIMIT 1
) f ON true
ORDER BY wanted.rank

-- name: list_sources
SELECT seller_id, namespace FROM feed_loader_task
WHERE (seller_id, namespace) > (%(seller_id)s, %(namespace)s) AND status <> %(removed)s
ORDER BY seller_id, namespace
LIMIT %(limit)s
