-- Move of the job tables into a separate schema.

-- name: lock_placing
-- Serializes processes. The first number is the engine's namespace of advisory locks.
SELECT pg_advisory_xact_lock(1684827757, hashtext(%(queue_schema)s))

-- name: has_schema
SELECT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = %(queue_schema)s)

-- name: list_objects
-- Objects that the DDL has created in a schema: kind, name for ALTER, and whether the other schema has one of that
-- name. Indexes, triggers and sequences are moved with their tables, partitions are not.
SELECT CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END AS kind, c.oid::regclass::text AS qualified_name,
       EXISTS (SELECT FROM pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace
               WHERE n.nspname = %(queue_schema)s AND o.relname = c.relname) AS clashes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p', 'v') AND c.relname ^@ 'dl_'
UNION ALL
SELECT 'FUNCTION', p.oid::regprocedure::text,
       EXISTS (SELECT FROM pg_proc o JOIN pg_namespace n ON n.oid = o.pronamespace
               WHERE n.nspname = %(queue_schema)s AND o.proname = p.proname)
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = %(schema)s AND (p.proname ^@ 'dl_' OR p.proname = 'notify_job_ready')
ORDER BY qualified_name

-- name: has_jobs
SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = %(queue_schema)s AND c.relname = 'dl_jobs')
