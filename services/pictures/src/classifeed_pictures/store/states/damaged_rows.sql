-- Data of other tables about pictures whose holdings are damaged.

-- name: list_held
-- Namespaces with waiting requests come first. If a namespace keeps several pictures, the newest comes last.
SELECT r.url_hash, r.namespace, 0 AS group_id, '' AS name, p.attempt, NULL::bytea AS info, 0 AS place
FROM (
    SELECT DISTINCT url_hash, namespace FROM requests_in_flight WHERE url_hash = ANY (%(url_hashes)b::bytea[])
) AS r
JOIN pictures p ON p.url_hash = r.url_hash
UNION ALL
SELECT s.url_hash, s.namespace, s.group_id, s.name, s.attempt, s.info, 1
FROM stored_pictures s
WHERE s.url_hash = ANY (%(url_hashes)b::bytea[]) AND NOT s.is_alias
ORDER BY place, attempt
