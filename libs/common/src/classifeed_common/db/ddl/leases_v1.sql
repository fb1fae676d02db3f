-- Leases (ADR 0006). A row per name that one process at a time may work for, and a row per living member of a group
-- that shares names fairly (member_of is the group's name). The rows of names stay: their fences must not restart.
CREATE TABLE leases (
    name text PRIMARY KEY,
    holder text NOT NULL,
    fence bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    member_of text
) WITH (fillfactor = 50);  -- room on each page, so that renewals touch no index
CREATE INDEX leases_member_of ON leases (member_of) WHERE member_of IS NOT NULL;
