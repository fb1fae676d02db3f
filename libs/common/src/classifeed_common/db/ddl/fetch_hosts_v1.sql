-- Request limits of hosts in users' URLs, shared by all processes of the service (ADR 0059). Each request changes its
-- host's row: the fill factor leaves room for updates in place, and no index covers a changing column.
CREATE TABLE fetch_hosts (
    host text PRIMARY KEY,
    rate double precision NOT NULL CHECK (rate > 0),                -- requests per second, as of now
    sent_at timestamptz NOT NULL DEFAULT '-infinity',               -- when the last permit was given
    held bigint[] NOT NULL DEFAULT '{}',                            -- permits given: when each expires, µs since 1970
    paused_until timestamptz NOT NULL DEFAULT '-infinity',          -- by the host's Retry-After
    ok_count bigint NOT NULL DEFAULT 0,
    slow_down_count bigint NOT NULL DEFAULT 0,
    failed_count bigint NOT NULL DEFAULT 0,
    version bigint NOT NULL DEFAULT 1,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
