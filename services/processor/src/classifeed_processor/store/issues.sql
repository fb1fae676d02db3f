-- Issues without rows: chunks while a load runs, one file of all of them afterwards.

-- name: insert_chunks
INSERT INTO issue_chunks (seller_id, namespace, task_id, run, summary, issues)
SELECT %(seller_id)s, %(namespace)s, %(task_id)s, %(run)s, n.summary, n.issues
FROM unnest(%(summaries)s::bytea[], %(issues)s::bytea[]) AS n(summary, issues)

-- name: list_chunks
SELECT chunk_id, summary FROM issue_chunks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run = %(run)s
ORDER BY chunk_id
LIMIT %(limit)s

-- name: read_chunk
SELECT issues FROM issue_chunks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND chunk_id = %(chunk_id)s

-- name: count_chunks
-- The first unpacked chunk of a task, and the number of its chunks, up to the limit.
SELECT min(chunk_id), count(*)
FROM (SELECT chunk_id FROM issue_chunks
      WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND run > 0
      ORDER BY chunk_id
      LIMIT %(limit)s) AS first

-- name: put_aside
-- A chunk of run 0 is never read; it is deleted with its task.
UPDATE issue_chunks SET run = 0
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s
  AND chunk_id = ANY(%(chunk_ids)s::bigint[])

-- name: delete_chunks
DELETE FROM issue_chunks
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s
  AND chunk_id = ANY(%(chunk_ids)s::bigint[])

-- name: read_file
SELECT object, count, index FROM load_files
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND task_id = %(task_id)s AND kind = %(kind)s

-- name: put_file
INSERT INTO load_files (seller_id, namespace, task_id, kind, object, count, index)
VALUES (%(seller_id)s, %(namespace)s, %(task_id)s, %(kind)s, %(object)s, %(count)s, %(index)s)
ON CONFLICT (seller_id, namespace, task_id, kind) DO UPDATE
SET object = excluded.object, count = excluded.count, index = excluded.index
