-- name: remove_manual_offer
-- A removed offer's text needs no verdict, as in `remove_offers`.
UPDATE offers
SET status = 'REMOVED', last_ordinal = 0, last_line = 0, last_change = 'REMOVED',
    text_requested_at = CASE WHEN text_requested_at IS NOT NULL THEN '-infinity'::timestamptz END,
    version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
    updated_at = clock_timestamp()
WHERE offer_id = %(offer_id)s AND origin = 'MANUAL' AND status <> 'REMOVED'
