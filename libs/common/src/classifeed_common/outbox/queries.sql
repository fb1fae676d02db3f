-- name: put_messages
-- The ids are drawn here, row by row in the order given.
INSERT INTO outbox (shard, topic, partition, key, value, headers)
SELECT %(shard)s, m.topic, m.partition, m.key, m.value, m.headers::json
FROM unnest(%(topics)s::text[], %(partitions)s::integer[], %(keys)b::bytea[], %(values)b::bytea[], %(headers)s::text[])
     WITH ORDINALITY AS m(topic, partition, key, value, headers, place)
ORDER BY m.place

-- name: read_front
-- Every row that is there, by id; no mark of how far we read, as a transaction may commit a smaller id later.
SELECT id, topic, partition, key, value, headers, extract(epoch FROM clock_timestamp() - created_at)::float8
FROM outbox
WHERE shard = %(shard)s
ORDER BY id
LIMIT %(limit)s

-- name: remove_sent
DELETE FROM outbox WHERE shard = %(shard)s AND id = ANY(%(ids)s)

-- name: count_waiting
SELECT count(*) FROM outbox WHERE shard = %(shard)s
