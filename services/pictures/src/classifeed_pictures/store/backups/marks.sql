-- Marks of tables, which show that a table was restored without the others. Statements with table names are in
-- marks.py.

-- name: lock_mark
-- One process at a time checks a table.
INSERT INTO table_marks AS m (name) VALUES (%(name)s)
ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name
RETURNING m.number, m.has_rows, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now

-- name: list_positions
-- A list of [topic, partition, id of the topic, next offset].
SELECT coalesce(jsonb_agg(jsonb_build_array(topic, partition, topic_id, next)), '[]')
FROM consumer_offsets
WHERE "group" = %(group)s

-- name: list_targets
-- The present positions, or those at which other tables are repaired.
SELECT coalesce(jsonb_agg(jsonb_build_array(topic, partition, topic_id, next)), '[]')
FROM (
    SELECT topic, partition, topic_id, max(next) AS next
    FROM (
        SELECT topic, partition, topic_id, next FROM consumer_offsets WHERE "group" = %(group)s
        UNION ALL
        SELECT t.p->>0, (t.p->>1)::integer, t.p->>2, (t.p->>3)::bigint
        FROM table_marks m, jsonb_array_elements(m.targets) AS t (p)
    ) AS known
    GROUP BY topic, partition, topic_id
) AS newest

-- name: note_mark
UPDATE table_marks SET number = %(number)s, has_rows = %(has_rows)s WHERE name = %(name)s

-- name: note_restored
UPDATE table_marks
SET noticed_at = clock_timestamp(), restored_to = to_timestamp(%(number)s / 1000000.0), targets = %(targets)s,
    checked_through = %(checked_through)s, lost_puts = 0
WHERE name = %(name)s

-- name: rewind
-- Events since a mark are applied again; a partition that was not read yet begins at its start.
UPDATE consumer_offsets o
SET next = r.next, updated_at = clock_timestamp()
FROM (
    SELECT c.topic, c.partition, coalesce((s.p->>3)::bigint, 0) AS next
    FROM consumer_offsets c
    LEFT JOIN jsonb_array_elements(%(positions)s::jsonb) AS s (p)
           ON s.p->>0 = c.topic AND (s.p->>1)::integer = c.partition
    WHERE c."group" = %(group)s AND (s.p IS NULL OR s.p->>2 = c.topic_id)
) AS r
WHERE o."group" = %(group)s AND o.topic = r.topic AND o.partition = r.partition AND o.next > r.next

-- name: list_restored
-- Restored tables until they are repaired, with the number of partitions that have events to apply again, and whether
-- offers still has to be called.
SELECT m.name, m.restored_to, m.checked_through IS NOT NULL AS is_checking, m.lost_puts,
       (SELECT count(*)
        FROM jsonb_array_elements(m.targets) AS t (p)
        JOIN consumer_offsets o ON o."group" = %(group)s AND o.topic = t.p->>0 AND o.partition = (t.p->>1)::integer
        WHERE o.topic_id = t.p->>2 AND o.next < (t.p->>3)::bigint) AS behind,
       EXISTS (SELECT FROM event_gaps g WHERE g.closed_at IS NULL AND g.cause = %(cause)s || m.name) AS has_gap,
       m.noticed_at < clock_timestamp() - %(named_s)s * interval '1 second' AS is_old
FROM table_marks m
WHERE m.noticed_at IS NOT NULL
ORDER BY m.name

-- name: has_others
SELECT EXISTS (SELECT FROM settled_requests WHERE client <> 'offers')
       OR EXISTS (SELECT FROM requests_in_flight WHERE client <> 'offers')

-- name: end_mending
UPDATE table_marks SET noticed_at = NULL, restored_to = NULL, targets = NULL, checked_through = NULL
WHERE name = %(name)s

-- name: drop_waiting_files
-- The next listing enqueues a job for each of them again.
UPDATE event_files SET state = 'REPLACED', ended_at = clock_timestamp() WHERE state = 'WAITING'

-- name: lock_check
SELECT checked_through FROM table_marks
WHERE name = %(name)s AND checked_through IS NOT NULL
FOR UPDATE SKIP LOCKED

-- name: list_states
SELECT url_hash, url, is_put, holdings FROM pictures WHERE url_hash > %(after)b::bytea ORDER BY url_hash LIMIT %(limit)s

-- name: list_missing
SELECT h.place
FROM unnest(%(namespaces)s::text[], %(group_ids)s::integer[], %(names)s::text[])
     WITH ORDINALITY AS h (namespace, group_id, name, place)
WHERE NOT EXISTS (
    SELECT FROM stored_pictures s WHERE s.namespace = h.namespace AND s.group_id = h.group_id AND s.name = h.name
)

-- name: note_check
UPDATE table_marks SET checked_through = %(through)s, lost_puts = lost_puts + %(lost_puts)s WHERE name = %(name)s
