-- Event files in the bucket by name and ETag: other bytes under the same name are a different file.

-- name: add_files
-- New files, and files that were replaced and are back.
INSERT INTO event_files AS f (name, etag, size_bytes, put_at)
SELECT * FROM unnest(%(names)s::text[], %(etags)s::text[], %(sizes)s::bigint[], %(put_at)s::timestamptz[])
ON CONFLICT (name, etag) DO UPDATE
SET state = 'WAITING', ended_at = NULL, error = NULL, put_at = excluded.put_at
WHERE f.state = 'REPLACED'
RETURNING name, etag, size_bytes, put_at

-- name: note_rows
UPDATE event_files SET rows = %(rows)s, wrong_rows = %(wrong_rows)s WHERE name = %(name)s AND etag = %(etag)s

-- name: end_file
UPDATE event_files
SET state = %(state)s, error = %(error)s, ended_at = clock_timestamp()
WHERE name = %(name)s AND etag = %(etag)s

-- name: list_ended
SELECT name, etag FROM event_files WHERE ended_at < %(before)s ORDER BY ended_at LIMIT %(limit)s

-- name: delete_files
DELETE FROM event_files f
USING unnest(%(names)s::text[], %(etags)s::text[]) AS gone (name, etag)
WHERE f.name = gone.name AND f.etag = gone.etag AND f.ended_at IS NOT NULL
