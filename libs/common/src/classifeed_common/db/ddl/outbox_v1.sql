-- Messages for Kafka, written in the transaction that they report, and removed once acknowledged (ADR 0005). Rows live
-- for milliseconds, so dead ones are vacuumed early: the relay reads from the front of the key.
CREATE TABLE outbox (
    shard smallint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    topic text NOT NULL,
    partition integer,
    key bytea,
    value bytea NOT NULL,
    headers json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (shard, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
