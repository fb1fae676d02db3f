-- name: insert_upload
-- The version is 0 (not due) until the file is stored.
INSERT INTO uploads (upload_id, seller_id, namespace, request_id, mode, disposition, file_name, sha256, size_bytes,
                     allow_removals, default_currency, allow_changes, stored, version, published_version, created_at)
VALUES (%(upload_id)s, %(seller_id)s, %(namespace)s, %(request_id)s, %(mode)s, %(disposition)s, %(file_name)s,
        %(sha256)s, %(size_bytes)s, %(allow_removals)s, %(default_currency)s, %(allow_changes)s, false, 0, 0, clock_timestamp())
ON CONFLICT (seller_id, request_id) WHERE request_id IS NOT NULL DO NOTHING
RETURNING upload_id

-- name: mark_stored
-- The upload becomes due: a task will be created for it.
UPDATE uploads SET stored = true, version = %(place)s, trace_context = %(trace_context)s
 WHERE upload_id = %(upload_id)s AND NOT stored

-- name: is_request_stored
SELECT EXISTS (SELECT FROM uploads WHERE seller_id = %(seller_id)s AND request_id = %(request_id)s AND stored)

-- name: delete_unstored
DELETE FROM uploads WHERE upload_id = %(upload_id)s AND NOT stored

-- name: find_upload
SELECT upload_id, seller_id, namespace, mode, disposition, file_name, sha256, size_bytes, task_id, created_at,
       allow_removals, default_currency, allow_changes
  FROM uploads
 WHERE upload_id = %(upload_id)s

-- name: find_upload_by_request
SELECT upload_id, seller_id, namespace, mode, disposition, file_name, sha256, size_bytes, task_id, created_at,
       allow_removals, default_currency, allow_changes
  FROM uploads
 WHERE seller_id = %(seller_id)s AND request_id = %(request_id)s

-- name: set_task
UPDATE uploads SET task_id = %(task_id)s WHERE upload_id = %(upload_id)s AND task_id IS NULL
