-- name: touch_blobs
-- Creates or locks the rows, in order of the hash, and waits for a clean-up that holds one. Returns the former
-- reference counts.
INSERT INTO blobs (sha256, ref_count, touched_at)
SELECT wanted.sha256, 0, clock_timestamp()
  FROM (SELECT DISTINCT unnest(%(sha256s)s::text[]) AS sha256) AS wanted
 ORDER BY wanted.sha256
    ON CONFLICT (sha256) DO UPDATE SET touched_at = clock_timestamp()
RETURNING sha256, ref_count

-- name: add_refs
-- A pair that exists, or is given twice, is inserted and counted at most once. The rows of blobs exist and are locked.
-- The conflict finds each by its key, independently of the planner's statistics (ADR 0058).
WITH added AS (
    INSERT INTO blob_refs (ref, sha256)
    SELECT pair.ref, pair.sha256 FROM unnest(%(refs)s::text[], %(sha256s)s::text[]) AS pair(ref, sha256)
        ON CONFLICT DO NOTHING
    RETURNING sha256
)
INSERT INTO blobs (sha256, ref_count, touched_at)
SELECT sha256, count(*), clock_timestamp() FROM added GROUP BY sha256
    ON CONFLICT (sha256) DO UPDATE
   SET ref_count = blobs.ref_count + excluded.ref_count, touched_at = clock_timestamp()

-- name: list_refs
SELECT found.sha256, wanted.ref
  FROM unnest(%(refs)s::text[]) AS wanted(ref)
 CROSS JOIN LATERAL (SELECT sha256 FROM blob_refs WHERE blob_refs.ref = wanted.ref OFFSET 0) AS found

-- name: lock_blobs
-- Locks rows before the references change, in the same order as an addition does, so that no two transactions deadlock.
-- Returns the rows that exist.
SELECT wanted.sha256
  FROM (SELECT DISTINCT unnest(%(sha256s)s::text[]) AS sha256 ORDER BY sha256) AS wanted
 CROSS JOIN LATERAL (
       SELECT FROM blobs WHERE blobs.sha256 = wanted.sha256 LIMIT 1 FOR NO KEY UPDATE
 ) AS locked

-- name: remove_refs
-- Rows of blob_refs are never updated, and those of blobs are locked: a row that was found stays until it is removed.
WITH removed AS (
    DELETE FROM blob_refs
     WHERE ctid = ANY (ARRAY(
           SELECT found.ctid
             FROM unnest(%(refs)s::text[], %(sha256s)s::text[]) AS pair(ref, sha256)
            CROSS JOIN LATERAL (
                  SELECT blob_refs.ctid
                    FROM blob_refs
                   WHERE blob_refs.ref = pair.ref AND blob_refs.sha256 = pair.sha256
                   LIMIT 1
            ) AS found
     ))
    RETURNING sha256
)
INSERT INTO blobs (sha256, ref_count, touched_at)
SELECT sha256, count(*), clock_timestamp() FROM removed GROUP BY sha256
    ON CONFLICT (sha256) DO UPDATE
   SET ref_count = blobs.ref_count - excluded.ref_count, touched_at = clock_timestamp()

-- name: list_needed
SELECT sha256 FROM blobs WHERE sha256 > %(after)s AND ref_count > 0 ORDER BY sha256 LIMIT %(limit)s

-- name: filter_needed
SELECT wanted.sha256
  FROM unnest(%(sha256s)s::text[]) AS wanted(sha256)
 CROSS JOIN LATERAL (SELECT ref_count FROM blobs WHERE blobs.sha256 = wanted.sha256 LIMIT 1) AS found
 WHERE found.ref_count > 0

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
