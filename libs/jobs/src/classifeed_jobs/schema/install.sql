-- Creation of the job tables without a migration tool.

-- name: lock_install
-- Serializes processes. The first number is the engine's namespace of advisory locks.
SELECT pg_advisory_xact_lock(1684827757, hashtext('install ' || %(schema)s))

-- name: make_versions
CREATE TABLE IF NOT EXISTS dl_versions (
    version integer PRIMARY KEY,
    installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
)

-- name: list_versions
SELECT version FROM dl_versions ORDER BY version

-- name: has_tables
-- Checks the schema itself, not other schemas in the search path.
SELECT to_regclass(current_schema() || '.dl_jobs') IS NOT NULL

-- name: note_version
INSERT INTO dl_versions (version) VALUES (%(version)s)
