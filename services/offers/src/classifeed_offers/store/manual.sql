-- name: remove_manual_offer
UPDATE offers
SET status = 'REMOVED', last_ordinal = 0, last_line = 0, last_change = 'REMOVED',
    version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
    updated_at = clock_timestamp()
WHERE offer_id = %(offer_id)s AND origin = 'MANUAL' AND status <> 'REMOVED'
