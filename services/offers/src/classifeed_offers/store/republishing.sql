-- name: await_inserts
-- An advisory lock, because a dump holds locks on all tables until it ends.
SELECT pg_advisory_xact_lock('republications'::regclass::oid::bigint)

-- name: request
-- Returns no row if the request was made before.
INSERT INTO republications (reason, seller_id, namespace, request_id, requested_at)
VALUES (%(reason)s, %(seller)s, %(namespace)s, %(request_id)s, clock_timestamp())
    ON CONFLICT (request_id) DO NOTHING
RETURNING republication_id

-- name: reset_slice
-- Resets the marks of the next offers in the order of their keys, except offers that a transaction has locked: waiting
-- for them while holding other locks could deadlock. The caller gets their ids and resets them one by one.
WITH slice AS (
    SELECT offer_id, seller_id, namespace, external_id
      FROM offers
     WHERE (seller_id, namespace, external_id) > (%(seller_id)s, %(namespace)s, %(external_id)s)
     ORDER BY seller_id, namespace, external_id
     LIMIT %(limit)s
), wanted AS (
    SELECT offer_id
      FROM slice
     WHERE (%(only_seller)s::text IS NULL OR seller_id = %(only_seller)s)
       AND (%(only_namespace)s::text IS NULL OR namespace = %(only_namespace)s)
), free AS (
    SELECT o.offer_id FROM offers o JOIN wanted USING (offer_id) FOR NO KEY UPDATE OF o SKIP LOCKED
), reset AS (
    UPDATE offers o SET published_version = 0
      FROM free
     WHERE o.offer_id = free.offer_id AND o.published_version > 0
)
SELECT seller_id, namespace, external_id,
       (SELECT count(*) FROM slice) = %(limit)s
       AND (%(only_seller)s::text IS NULL OR seller_id < %(only_seller)s
            OR (seller_id = %(only_seller)s
                AND (%(only_namespace)s::text IS NULL OR namespace <= %(only_namespace)s))) AS has_more,
       (SELECT count(*) FROM free), ARRAY(SELECT offer_id FROM wanted EXCEPT SELECT offer_id FROM free)
  FROM slice
 ORDER BY seller_id DESC, namespace DESC, external_id DESC
 LIMIT 1

-- name: reset_offer
-- Waits for the lock.
UPDATE offers SET published_version = 0 WHERE offer_id = %(offer_id)s

-- name: count_offers
UPDATE republications SET offers = offers + %(offers)s WHERE republication_id = %(id)s

-- name: note_marked
UPDATE republications SET marked_at = clock_timestamp() WHERE republication_id = %(id)s

-- name: select_open
SELECT republication_id, reason, seller_id, namespace, requested_at, offers, marked_at, finished_at
  FROM republications
 WHERE finished_at IS NULL
 ORDER BY republication_id

-- name: finish_pushed
-- A republication is over once no offer is due in a version from before its last mark was reset: pushes go by version.
UPDATE republications
   SET finished_at = clock_timestamp()
 WHERE finished_at IS NULL AND marked_at IS NOT NULL
   AND (extract(epoch FROM marked_at) * 1000000)::bigint
       < coalesce((SELECT min(version) FROM offers WHERE version > published_version), 9223372036854775807)
RETURNING republication_id, offers

-- name: forget_old
DELETE FROM republications WHERE finished_at < clock_timestamp() - interval '90 days'
