-- Making the job tables without a migration tool.

-- name: lock_install
-- One process after the other; a number of our own for the lock.
SELECT pg_advisory_xact_lock(1684827757, hashtext('install ' || %(schema)s))

-- name: make_versions
CREATE TABLE IF NOT EXISTS dl_versions (
    version integer PRIMARY KEY,
    installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
)

-- name: list_versions
SELECT version FROM dl_versions ORDER BY version

-- name: has_tables
-- Of the schema itself: those of another one in the search path are none of ours.
SELECT to_regclass(current_schema() || '.dl_jobs') IS NOT NULL

-- name: note_version
INSERT INTO dl_versions (version) VALUES (%(version)s)
