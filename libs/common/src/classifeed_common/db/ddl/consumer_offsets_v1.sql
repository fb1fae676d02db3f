-- Positions of Kafka groups, moved in the transaction of the effects (ADR 0004). The table has few rows, each updated
-- many times a second: the fill factor leaves room for updates in place.
CREATE TABLE consumer_offsets (
    "group" text NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    topic_id text NOT NULL,
    next bigint NOT NULL CHECK (next >= 0),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY ("group", topic, partition)
) WITH (fillfactor = 25);
