-- Texts that people review.

-- name: list_kept
SELECT cache_key, verdicts, reviewers FROM kept_verdicts
WHERE cache_key = ANY (%(cache_keys)s::bytea[]) AND stored_at > clock_timestamp() - %(age_s)s * interval '1 second'

-- name: lock_texts
-- Serializes requests and opinions about equal texts; the caller sorts the keys, so that there is no deadlock.
SELECT pg_advisory_xact_lock(hashtextextended('text/' || encode(cache_key, 'hex'), 0))
FROM unnest(%(cache_keys)s::bytea[]) AS k (cache_key)

-- name: open_request
-- The same text under the same key joins the open request.
INSERT INTO requests (service, environment, key, text, text_hash, cache_key)
VALUES (%(service)s, %(environment)s, %(key)s, %(text)s, %(text_hash)s, %(cache_key)s)
ON CONFLICT (service, environment, key, text_hash) WHERE ended_at IS NULL DO NOTHING
RETURNING request_id

-- name: add_reviews
-- Reviews of an open request, unless an open request about an equal text has reviews: their verdicts go to every key.
INSERT INTO reviews (request_id, project)
SELECT q.request_id, p.project
FROM requests q
CROSS JOIN unnest(%(projects)s::text[]) AS p (project)
WHERE q.service = %(service)s AND q.environment = %(environment)s AND q.key = %(key)s AND q.text_hash = %(text_hash)s
  AND q.ended_at IS NULL
  AND NOT EXISTS (SELECT FROM requests o
                  JOIN reviews r USING (request_id)
                  WHERE o.cache_key = q.cache_key AND o.ended_at IS NULL)
ON CONFLICT (request_id, project) DO NOTHING

-- name: lock_reviewer
-- Serializes the claims of one reviewer in a project, so that two claims never lease two texts.
SELECT pg_advisory_xact_lock(hashtextextended('reviewer/' || %(project)s || '/' || %(reviewer)s, 0))

-- name: renew_lease
-- The text that the reviewer holds now, after `after`; a locked row is about to be released or ended.
UPDATE reviews v
SET leased_by = %(reviewer)s, leased_until = clock_timestamp() + %(lease_s)s * interval '1 second'
FROM (SELECT r.review_id
      FROM reviews r
      WHERE r.project = %(project)s AND r.review_id > %(after)s AND r.ended_at IS NULL
        AND r.leased_by = ANY (%(spellings)s::text[]) AND r.leased_until > clock_timestamp()
      ORDER BY r.review_id
      LIMIT 1
      FOR NO KEY UPDATE SKIP LOCKED) AS held
JOIN requests q ON true
WHERE v.review_id = held.review_id AND q.request_id = v.request_id
RETURNING v.review_id, v.project, q.text, v.leased_until

-- name: claim_review
-- The oldest free review after `after` without an opinion of this reviewer.
UPDATE reviews v
SET leased_by = %(reviewer)s, leased_until = clock_timestamp() + %(lease_s)s * interval '1 second'
FROM (SELECT r.review_id
      FROM reviews r
      WHERE r.project = %(project)s AND r.review_id > %(after)s AND r.ended_at IS NULL
        AND (r.leased_until IS NULL OR r.leased_until < clock_timestamp())
        AND NOT EXISTS (SELECT FROM opinions a
                        WHERE a.review_id = r.review_id AND a.reviewer = ANY (%(spellings)s::text[]))
      ORDER BY r.review_id
      LIMIT 1
      FOR NO KEY UPDATE SKIP LOCKED) AS next
JOIN requests q ON true
WHERE v.review_id = next.review_id AND q.request_id = v.request_id
RETURNING v.review_id, v.project, q.text, v.leased_until

-- name: end_leases
-- The reviewer's other leases in the project end. The last holder stays recorded, and may still give an opinion until
-- another reviewer claims the text.
UPDATE reviews SET leased_until = clock_timestamp()
WHERE review_id IN (
    SELECT review_id
    FROM reviews
    WHERE project = %(project)s AND ended_at IS NULL AND review_id <> %(review_id)s
      AND leased_by = ANY (%(spellings)s::text[]) AND leased_until > clock_timestamp()
    FOR NO KEY UPDATE SKIP LOCKED
)

-- name: find_text
-- The text of a review, by its key for equal texts.
SELECT q.cache_key FROM reviews v JOIN requests q USING (request_id) WHERE v.review_id = %(review_id)s

-- name: lock_review
SELECT v.review_id, v.request_id, v.project, v.ended_at, v.leased_by, v.leased_until > clock_timestamp() AS is_leased
FROM reviews v
WHERE v.review_id = %(review_id)s
FOR NO KEY UPDATE

-- name: add_opinion
INSERT INTO opinions (review_id, reviewer, verdicts) VALUES (%(review_id)s, %(reviewer)s, %(verdicts)s::text[])

-- name: list_opinions
SELECT reviewer, verdicts FROM opinions WHERE review_id = %(review_id)s ORDER BY given_at, reviewer

-- name: free_review
UPDATE reviews SET leased_by = NULL, leased_until = NULL WHERE review_id = %(review_id)s

-- name: give_back
UPDATE reviews SET leased_by = NULL, leased_until = NULL
WHERE review_id = %(review_id)s AND leased_by = ANY (%(spellings)s::text[])

-- name: end_review
UPDATE reviews
SET verdicts = %(verdicts)s::text[], ended_at = clock_timestamp(), leased_by = NULL, leased_until = NULL
WHERE review_id = %(review_id)s

-- name: lock_request
SELECT cache_key FROM requests WHERE request_id = %(request_id)s FOR NO KEY UPDATE

-- name: list_ended
-- The verdicts of each review of a request; null while a review is open.
SELECT verdicts FROM reviews WHERE request_id = %(request_id)s

-- name: list_reviewers
-- Reviewers who have given any opinion about the text.
SELECT DISTINCT o.reviewer
FROM reviews v
JOIN opinions o USING (review_id)
WHERE v.request_id = %(request_id)s
ORDER BY o.reviewer

-- name: end_requests
-- Ends every open request about an equal text.
UPDATE requests SET ended_at = clock_timestamp()
WHERE cache_key = %(cache_key)s AND ended_at IS NULL
RETURNING request_id, service, environment, key

-- name: close_reviews
-- Open reviews of ended requests: their verdicts are not needed.
UPDATE reviews SET ended_at = clock_timestamp(), leased_by = NULL, leased_until = NULL
WHERE request_id = ANY (%(request_ids)s::bigint[]) AND ended_at IS NULL

-- name: find_open
-- The texts of open requests of these keys.
SELECT DISTINCT cache_key
FROM requests
WHERE service = %(service)s AND environment = %(environment)s AND key = ANY (%(keys)s::text[]) AND ended_at IS NULL

-- name: withdraw_requests
-- Requests of these keys end without a callback; requests about texts that are not locked stay.
UPDATE requests SET ended_at = clock_timestamp()
WHERE service = %(service)s AND environment = %(environment)s AND key = ANY (%(keys)s::text[]) AND ended_at IS NULL
  AND cache_key = ANY (%(cache_keys)s::bytea[])
RETURNING request_id, key

-- name: pass_reviews
-- The reviews of an ended request move to an open request about an equal text that has none.
UPDATE reviews v SET request_id = heir.request_id
FROM (SELECT min(o.request_id) AS request_id
      FROM requests o
      WHERE o.cache_key = (SELECT cache_key FROM requests WHERE request_id = %(request_id)s) AND o.ended_at IS NULL
        AND NOT EXISTS (SELECT FROM reviews r WHERE r.request_id = o.request_id)) AS heir
WHERE v.request_id = %(request_id)s AND heir.request_id IS NOT NULL

-- name: keep_verdicts
INSERT INTO kept_verdicts (cache_key, verdicts, reviewers)
VALUES (%(cache_key)s, %(verdicts)s::text[], %(reviewers)s::text[])
ON CONFLICT (cache_key) DO UPDATE
SET verdicts = excluded.verdicts, reviewers = excluded.reviewers, stored_at = clock_timestamp()

-- name: count_queues
SELECT project, count(*) AS waiting,
       coalesce(extract(epoch FROM clock_timestamp() - min(opened_at)), 0)::float8 AS oldest_s,
       count(DISTINCT leased_by) FILTER (WHERE leased_until > clock_timestamp()) AS reviewers,
       count(*) FILTER (WHERE opened_at < clock_timestamp() - %(deadline_s)s * interval '1 second') AS late
FROM reviews
WHERE ended_at IS NULL
GROUP BY project

-- name: count_opinions
-- By day of a time zone and project, today first.
SELECT (o.given_at AT TIME ZONE %(time_zone)s)::date AS day, v.project, count(*) AS opinions
FROM opinions o
JOIN reviews v ON v.review_id = o.review_id
WHERE o.given_at >= (date_trunc('day', clock_timestamp() AT TIME ZONE %(time_zone)s) - %(days)s * interval '1 day'
                     + interval '1 day') AT TIME ZONE %(time_zone)s
GROUP BY day, v.project
ORDER BY day DESC, v.project
