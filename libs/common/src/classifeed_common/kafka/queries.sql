-- name: load_positions
SELECT o."group", o.topic, o.partition, o.topic_id, o.next
FROM consumer_offsets o
JOIN unnest(%(groups)s::text[], %(topics)s::text[], %(partitions)s::integer[]) AS p("group", topic, partition)
  USING ("group", topic, partition)

-- name: list_groups
SELECT "group", partition, topic_id, next FROM consumer_offsets WHERE topic = %(topic)s ORDER BY "group", partition

-- name: begin_positions
INSERT INTO consumer_offsets ("group", topic, partition, topic_id, next)
SELECT "group", topic, partition, topic_id, next
FROM unnest(%(groups)s::text[], %(topics)s::text[], %(partitions)s::integer[], %(topic_ids)s::text[],
            %(nexts)s::bigint[]) AS p("group", topic, partition, topic_id, next)
ON CONFLICT DO NOTHING

-- name: limit_effect
SELECT set_config('transaction_timeout', %(limit_ms)s, true)

-- name: move_positions
-- First statement of every effect transaction. Its row locks make a zombie's effect wait; after our commit the
-- comparison rejects it.
UPDATE consumer_offsets o
SET next = p.new_next, updated_at = clock_timestamp()
FROM unnest(%(groups)s::text[], %(topics)s::text[], %(partitions)s::integer[], %(expected_ids)s::text[],
            %(expected)s::bigint[], %(new_next)s::bigint[])
     AS p("group", topic, partition, expected_id, expected, new_next)
WHERE o."group" = p."group" AND o.topic = p.topic AND o.partition = p.partition
  AND o.topic_id = p.expected_id AND o.next = p.expected

-- name: replace_positions
-- For positions whose log is lost. Compared as in every move: a process that came first has done the same.
UPDATE consumer_offsets o
SET topic_id = p.new_id, next = p.new_next, updated_at = clock_timestamp()
FROM unnest(%(groups)s::text[], %(topics)s::text[], %(partitions)s::integer[], %(expected_ids)s::text[],
            %(expected)s::bigint[], %(new_ids)s::text[], %(new_next)s::bigint[])
     AS p("group", topic, partition, expected_id, expected, new_id, new_next)
WHERE o."group" = p."group" AND o.topic = p.topic AND o.partition = p.partition
  AND o.topic_id = p.expected_id AND o.next = p.expected
