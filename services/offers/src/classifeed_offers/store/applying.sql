-- name: forbid_scans
-- For a poll of 10,000 offers, the planner prefers to read a whole table of a million rows, at each poll. The cost of
-- an offer would then grow with the table.
SELECT set_config('enable_seqscan', 'off', true)

-- name: lock_heads
-- A fixed order prevents deadlocks between two consumers with several namespaces.
SELECT h.seller_id, h.namespace, h.task_id, h.run
FROM task_heads h
JOIN unnest(%(sellers)s::text[], %(namespaces)s::text[]) AS n(seller_id, namespace) USING (seller_id, namespace)
ORDER BY h.seller_id, h.namespace
FOR NO KEY UPDATE OF h

-- name: create_heads
INSERT INTO task_heads (seller_id, namespace, task_id, run)
SELECT seller_id, namespace, 0, 0
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[]) AS n(seller_id, namespace)
ORDER BY seller_id, namespace
ON CONFLICT DO NOTHING

-- name: move_heads
UPDATE task_heads h
SET task_id = n.task_id, run = n.run, trace_context = n.trace_context, moved_at = clock_timestamp()
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(tasks)s::bigint[], %(runs)s::integer[],
            %(traces)s::jsonb[])
     AS n(seller_id, namespace, task_id, run, trace_context)
WHERE h.seller_id = n.seller_id AND h.namespace = n.namespace

-- name: find_applied
SELECT b.seller_id, b.namespace, b.task_id, b.run, b.batch_id, b.digest, b.result
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(tasks)s::bigint[], %(runs)s::integer[], %(batches)s::bigint[])
     AS n(seller_id, namespace, task_id, run, batch_id)
JOIN applied_batches b USING (seller_id, namespace, task_id, run, batch_id)

-- name: find_ended
SELECT e.seller_id, e.namespace, e.task_id, e.run, e.digest, e.outcome, e.removed, e.made_manual, e.kept, e.changed,
       e.dropped
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(tasks)s::bigint[], %(runs)s::integer[])
     AS n(seller_id, namespace, task_id, run)
JOIN task_ends e USING (seller_id, namespace, task_id, run)

-- name: load_offers
SELECT external_id, offer_id, content_hash, origin, status, last_task_id, last_change, moderation, text_hash,
       approved_text_hash, ban, picture_faults, NULL::bytea AS published_content, NULL::bytea AS content,
       NULL::bytea AS pictures
FROM offers
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND external_id = ANY(%(external_ids)s::text[])

-- name: load_offers_with_content
SELECT external_id, offer_id, content_hash, origin, status, last_task_id, last_change, moderation, text_hash,
       approved_text_hash, ban, picture_faults, published_content, content, pictures
FROM offers
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND external_id = ANY(%(external_ids)s::text[])

-- name: await_republication
-- A beginning republication waits for open inserts of offers, and later inserts wait for the republication. Either the
-- republication finds their marks, or they find its row. This is a separate statement because an insert only sees rows
-- from before it began.
SELECT pg_advisory_xact_lock_shared('republications'::regclass::oid::bigint)

-- name: insert_offers
-- The search never had a new offer that awaits its first verdict, so the offer counts as published until the verdict.
-- After a republication this does not hold: a lost offer may still be searchable (ADR 0078).
INSERT INTO offers (seller_id, namespace, external_id, content, content_hash, origin, status, last_task_id, last_change,
                    moderation, text_hash, approved_text_hash, ban, published_content, text_requested_at, pictures,
                    picture_faults, pictures_requested_at, last_ordinal, last_line, version, published_version)
SELECT %(seller)s, %(namespace)s, external_id, content, content_hash, origin, status, last_task_id, last_change,
       moderation, text_hash, approved_text_hash, ban, published_content,
       CASE WHEN is_requested THEN clock_timestamp() END, pictures, picture_faults,
       CASE WHEN awaits_pictures THEN clock_timestamp() END, last_ordinal, last_line, version,
       CASE WHEN status = 'PENDING' AND published_content IS NULL AND NOT EXISTS (SELECT FROM republications)
            THEN version ELSE 0 END
FROM (SELECT *, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS version
      FROM unnest(%(external_ids)s::text[], %(contents)b::bytea[], %(hashes)b::bytea[], %(origins)s::text[],
                  %(statuses)s::text[], %(tasks)s::bigint[], %(changes)s::text[], %(moderations)s::text[],
                  %(text_hashes)b::bytea[], %(approved_text_hashes)b::bytea[], %(bans)b::bytea[],
                  %(published_contents)b::bytea[], %(are_requested)s::boolean[], %(pictures)b::bytea[],
                  %(picture_faults)b::bytea[], %(await_pictures)s::boolean[], %(ordinals)s::bigint[],
                  %(lines)s::bigint[])
           AS n(external_id, content, content_hash, origin, status, last_task_id, last_change, moderation, text_hash,
                approved_text_hash, ban, published_content, is_requested, pictures, picture_faults, awaits_pictures,
                last_ordinal, last_line)) AS n
RETURNING external_id, offer_id

-- name: update_offers
-- text_requested_at stays while the same text waits. pictures_requested_at stays while any picture is awaited.
UPDATE offers o
SET content = n.content, content_hash = n.content_hash, origin = n.origin, status = n.status,
    last_task_id = n.last_task_id, last_ordinal = n.last_ordinal, last_line = n.last_line,
    last_change = n.last_change, moderation = n.moderation, text_hash = n.text_hash,
    approved_text_hash = n.approved_text_hash, ban = n.ban, published_content = n.published_content,
    text_requested_at = CASE WHEN n.is_requested THEN clock_timestamp()
                             WHEN n.text_hash IS DISTINCT FROM n.approved_text_hash AND n.ban IS NULL
                             THEN coalesce(o.text_requested_at, '-infinity') END,
    text_decided_at = CASE WHEN n.text_hash = o.text_hash THEN o.text_decided_at END,
    pictures = n.pictures, picture_faults = n.picture_faults,
    pictures_requested_at = CASE WHEN n.awaits_pictures
                                 THEN coalesce(nullif(o.pictures_requested_at, '-infinity'), clock_timestamp()) END,
    version = greatest(o.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
    updated_at = clock_timestamp()
FROM unnest(%(offer_ids)s::bigint[], %(contents)b::bytea[], %(hashes)b::bytea[], %(origins)s::text[],
            %(statuses)s::text[], %(tasks)s::bigint[], %(changes)s::text[], %(moderations)s::text[],
            %(text_hashes)b::bytea[], %(approved_text_hashes)b::bytea[], %(bans)b::bytea[],
            %(published_contents)b::bytea[], %(are_requested)s::boolean[], %(pictures)b::bytea[],
            %(picture_faults)b::bytea[], %(await_pictures)s::boolean[], %(ordinals)s::bigint[], %(lines)s::bigint[])
     AS n(offer_id, content, content_hash, origin, status, last_task_id, last_change, moderation, text_hash,
          approved_text_hash, ban, published_content, is_requested, pictures, picture_faults, awaits_pictures,
          last_ordinal, last_line)
WHERE o.offer_id = n.offer_id

-- name: insert_batches
-- `seen` travels as text, because PostgreSQL has no array of arrays of different lengths.
INSERT INTO applied_batches (seller_id, namespace, task_id, run, batch_id, digest, result, seen, steady_prices,
                             has_available)
SELECT seller_id, namespace, task_id, run, batch_id, digest, result, seen::bigint[], steady_prices, has_available
FROM unnest(%(sellers)s::text[], %(namespaces)s::text[], %(tasks)s::bigint[], %(runs)s::integer[], %(batches)s::bigint[],
            %(digests)b::bytea[], %(kept)b::bytea[], %(seen)s::text[], %(steady_prices)s::integer[],
            %(has_available)s::boolean[])
     AS n(seller_id, namespace, task_id, run, batch_id, digest, result, seen, steady_prices, has_available)

-- name: list_batches
SELECT batch_id, digest
FROM applied_batches
WHERE seller_id = %(seller)s AND namespace = %(namespace)s AND task_id = %(task)s AND run = %(run)s
ORDER BY batch_id

-- name: insert_end
INSERT INTO task_ends (seller_id, namespace, task_id, run, batch_count, digest, disposition, decision, outcome, ended_at)
VALUES (%(seller)s, %(namespace)s, %(task)s, %(run)s, %(batch_count)s, %(digest)b, %(disposition)s, %(decision)s::text,
        %(outcome)s::text,
        CASE WHEN %(outcome)s::text IS NOT NULL THEN clock_timestamp() END)
