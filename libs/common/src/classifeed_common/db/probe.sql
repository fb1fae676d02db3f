-- The sessions of this role, and the probe's own: if its process id differs from the client's, there is a pooler.
-- name: read_sessions
SELECT pid, state, wait_event_type, backend_start, state_change,
       extract(epoch FROM clock_timestamp() - backend_start)::float8 AS age_s,
       left(query, 200) AS query,
       pid = pg_backend_pid() AS is_probe
  FROM pg_stat_activity
 WHERE pid = ANY (%(pids)s) OR pid = pg_backend_pid()

-- Ends unchanged sessions. Their clients cannot, and their locks would be held until the idle timeout.
-- name: end_sessions
SELECT activity.pid, pg_terminate_backend(activity.pid)
  FROM unnest(%(pids)s::int[], %(starts)s::timestamptz[], %(changes)s::timestamptz[])
       AS lost (pid, backend_start, state_change)
  JOIN pg_stat_activity AS activity USING (pid, backend_start, state_change)
