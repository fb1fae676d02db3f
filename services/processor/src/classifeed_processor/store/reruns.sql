-- Tasks that load the file of an earlier task of their namespace again.

-- name: find_rerun
SELECT seller_id, namespace, task_id, rerun_of FROM tasks
WHERE seller_id = %(seller_id)s AND request_id = %(request_id)s

-- name: lock_earlier
-- While the task is locked, it is not cleaned up, and its reference to the file stays.
SELECT kind, status, source_sha256 FROM tasks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s
FOR KEY SHARE

-- name: insert_rerun
-- The file and the options of the load are copied from the earlier task.
INSERT INTO tasks (seller_id, namespace, task_id, kind, status, phase, mode, disposition, source_sha256, source_bytes,
                   file_name, format_wanted, default_currency, parser_version, decision, job_id, rerun_of, request_id)
SELECT t.seller_id, t.namespace, %(task_id)s, t.kind, %(status)s, %(phase)s, t.mode, t.disposition, t.source_sha256,
       t.source_bytes, t.file_name, t.format_wanted, t.default_currency, %(parser_version)s, %(decision)s,
       %(job_id)s, t.task_id, %(request_id)s
FROM tasks t
WHERE t.seller_id = %(seller_id)s AND t.namespace = %(namespace)s AND t.task_id = %(earlier)s

-- name: count_open_reruns
SELECT count(*) FROM tasks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND ended_at IS NULL AND rerun_of IS NOT NULL
