-- name: put_messages
-- Draws the ids row by row, in the given order.
INSERT INTO outbox (shard, topic, partition, key, value, headers)
SELECT %(shard)s, m.topic, m.partition, m.key, m.value, m.headers::json
FROM unnest(%(topics)b::text[], %(partitions)b::integer[], %(keys)b::bytea[], %(values)b::bytea[], %(headers)b::text[])
     WITH ORDINALITY AS m(topic, partition, key, value, headers, place)
ORDER BY m.place

-- name: read_front
-- Ordered by id, above the position of the OutboxCursor, below which no message can appear any more.
SELECT id, topic, partition, key, value, headers, extract(epoch FROM clock_timestamp() - created_at)::float8
FROM outbox
WHERE shard = %(shard)s AND id > %(after)s
ORDER BY id
LIMIT %(limit)s

-- name: remove_sent
DELETE FROM outbox WHERE shard = %(shard)s AND id = ANY(%(ids)s)

-- name: is_anything_waiting
SELECT EXISTS (SELECT FROM outbox WHERE shard = %(shard)s AND id > %(after)s)

-- name: count_waiting
SELECT count(*) FROM outbox WHERE shard = %(shard)s AND id > %(after)s

-- name: list_writers
-- Transactions that may have drawn an id: they hold this lock from before the draw to their end.
SELECT DISTINCT virtualtransaction
FROM pg_locks
WHERE locktype = 'relation' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND relation = 'outbox'::regclass AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()
