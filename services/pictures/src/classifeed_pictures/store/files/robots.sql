-- Rules of robots.txt, for all processes.

-- name: claim_rules
-- The rules, if they are fresh; otherwise the claim to fetch them, which one process at a time has.
WITH claimed AS (
    INSERT INTO robots_rules AS r (origin, claimed_until)
    VALUES (%(origin)s, clock_timestamp() + %(claim_s)s * interval '1 second')
    ON CONFLICT (origin) DO UPDATE SET claimed_until = EXCLUDED.claimed_until
    WHERE (r.fresh_until IS NULL OR r.fresh_until <= clock_timestamp())
      AND (r.claimed_until IS NULL OR r.claimed_until <= clock_timestamp())
    RETURNING true AS is_claimed
)
SELECT coalesce((SELECT is_claimed FROM claimed), false) AS is_claimed, r.rules, r.is_reachable,
       coalesce(r.fresh_until > clock_timestamp(), false) AS is_fresh
FROM (VALUES (%(origin)s)) AS wanted (origin)
LEFT JOIN robots_rules r ON r.origin = wanted.origin

-- name: save_rules
-- If a host cannot be reached, its older rules stay.
UPDATE robots_rules
SET rules = coalesce(%(rules)s, rules), is_reachable = %(is_reachable)s, claimed_until = NULL,
    fresh_until = clock_timestamp() + %(fresh_s)s * interval '1 second'
WHERE origin = %(origin)s

-- name: give_claim_back
UPDATE robots_rules SET claimed_until = NULL WHERE origin = %(origin)s

-- name: delete_old_rules
DELETE FROM robots_rules
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM robots_rules WHERE fresh_until < %(before)s ORDER BY fresh_until LIMIT %(limit)s))
