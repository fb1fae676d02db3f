-- name: touch_blob
-- Makes the row or locks it; a clean-up that holds it is waited for.
INSERT INTO blobs (sha256, ref_count, touched_at)
VALUES (%(sha256)s, 0, clock_timestamp())
ON CONFLICT (sha256) DO UPDATE SET touched_at = clock_timestamp()

-- name: insert_ref
INSERT INTO blob_refs (ref, sha256) VALUES (%(ref)s, %(sha256)s) ON CONFLICT DO NOTHING

-- name: lock_blobs_of
-- Locked before the references change and in one order, as an addition does: so no two of them deadlock.
SELECT sha256
  FROM blobs
 WHERE sha256 IN (SELECT sha256 FROM blob_refs WHERE ref = %(ref)s)
 ORDER BY sha256
   FOR NO KEY UPDATE

-- name: delete_refs
DELETE FROM blob_refs WHERE ref = %(ref)s RETURNING sha256

-- name: count_ref
UPDATE blobs SET ref_count = ref_count + %(change)s, touched_at = clock_timestamp() WHERE sha256 = %(sha256)s

-- name: lock_unreferenced
SELECT sha256
  FROM blobs
 WHERE ref_count = 0 AND touched_at < clock_timestamp() - make_interval(secs => %(grace_s)s)
 ORDER BY touched_at
 LIMIT 1
   FOR UPDATE SKIP LOCKED

-- name: delete_blob
DELETE FROM blobs WHERE sha256 = %(sha256)s

-- name: note_unknown
INSERT INTO blobs (sha256, ref_count, touched_at)
SELECT unnest(%(sha256s)s::text[]), 0, clock_timestamp()
    ON CONFLICT (sha256) DO NOTHING
