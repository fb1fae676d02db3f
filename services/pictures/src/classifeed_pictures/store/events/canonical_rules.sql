-- Rules of canonical URLs that have been in force. One job at a time records them.

-- name: note_rules
INSERT INTO canonical_rules (version, document)
SELECT %(version)s::text, %(document)s
WHERE %(version)s::text IS DISTINCT FROM (SELECT version FROM canonical_rules ORDER BY rules_id DESC LIMIT 1)

-- name: find_newest
SELECT rules_id, found_at <= clock_timestamp() - %(settle_s)s * interval '1 second' AS is_settled,
       rekeyed_at IS NOT NULL AS is_rekeyed
FROM canonical_rules
ORDER BY rules_id DESC
LIMIT 1

-- name: note_rekeyed
UPDATE canonical_rules SET rekeyed_at = clock_timestamp() WHERE rules_id = %(rules_id)s

-- name: note_not_rekeyed
UPDATE canonical_rules SET rekeyed_at = NULL WHERE rekeyed_at IS NOT NULL

-- name: forget_rules
DELETE FROM canonical_rules
WHERE rules_id NOT IN (SELECT rules_id FROM canonical_rules ORDER BY rules_id DESC LIMIT %(kept)s)

-- name: list_rules
SELECT document FROM canonical_rules ORDER BY rules_id DESC LIMIT %(limit)s
