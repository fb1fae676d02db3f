-- Stored pictures that look like another one, by their keys (see classifeed_pictures.domain.similarity).

-- name: forbid_scans
-- For this transaction: tables that were just filled have no statistics, and the planner would scan them. It also
-- overestimates the cost of the search and would compile it, which takes longer than the search.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('jit', 'off', true)

-- name: list_keys
-- Keys within the distance, each once. Candidates with a nearly equal piece are read from the indexes only.
SELECT DISTINCT similarity_key
FROM (
    SELECT similarity_key FROM stored_pictures
    WHERE bit_count(similarity_key::bit(64)) >= 8
      AND ((similarity_key >> 48) & 65535)::integer = ANY(%(first)s::integer[])
    UNION ALL
    SELECT similarity_key FROM stored_pictures
    WHERE bit_count(similarity_key::bit(64)) >= 8
      AND ((similarity_key >> 32) & 65535)::integer = ANY(%(second)s::integer[])
    UNION ALL
    SELECT similarity_key FROM stored_pictures
    WHERE bit_count(similarity_key::bit(64)) >= 8
      AND ((similarity_key >> 16) & 65535)::integer = ANY(%(third)s::integer[])
    UNION ALL
    SELECT similarity_key FROM stored_pictures
    WHERE bit_count(similarity_key::bit(64)) >= 8
      AND ((similarity_key >> 0) & 65535)::integer = ANY(%(fourth)s::integer[])
) AS candidates
WHERE bit_count((similarity_key # %(key)s::bigint)::bit(64)) <= %(distance)s

-- name: list_similar
-- Pictures with one of the keys of `list_keys`, each with its own address and without aliases.
SELECT s.namespace, s.group_id, s.name, s.info, coalesce(p.url, '') AS url, s.distance
FROM (
    SELECT found.namespace, found.group_id, found.name, found.info, found.url_hash,
           bit_count((found.similarity_key # %(key)s::bigint)::bit(64))::integer AS distance
    FROM unnest(%(keys)s::bigint[]) AS wanted(similarity_key)
    CROSS JOIN LATERAL (
        SELECT namespace, group_id, name, info, url_hash, similarity_key
        FROM stored_pictures
        WHERE NOT is_alias AND bit_count(stored_pictures.similarity_key::bit(64)) >= 8
          AND ((stored_pictures.similarity_key >> 48) & 65535)::integer
              = ((wanted.similarity_key >> 48) & 65535)::integer
          AND stored_pictures.similarity_key = wanted.similarity_key
    ) AS found
    WHERE found.url_hash <> %(url_hash)s AND (%(namespace)s::text = '' OR found.namespace = %(namespace)s)
      AND (bit_count((found.similarity_key # %(key)s::bigint)::bit(64)), found.namespace, found.group_id, found.name)
          > (%(after_distance)s, %(after_namespace)s, %(after_group)s, %(after_name)s)
    ORDER BY distance, namespace, group_id, name
    LIMIT %(limit)s
) AS s
LEFT JOIN pictures p ON p.url_hash = s.url_hash
ORDER BY s.distance, s.namespace, s.group_id, s.name

-- name: list_similar_of_urls
-- The same among the pictures of some URLs: they are few, so each is compared.
SELECT s.namespace, s.group_id, s.name, s.info, coalesce(p.url, '') AS url, s.distance
FROM (
    SELECT namespace, group_id, name, info, url_hash,
           bit_count((similarity_key # %(key)s::bigint)::bit(64))::integer AS distance
    FROM stored_pictures
    WHERE url_hash = ANY(%(url_hashes)s::bytea[]) AND NOT is_alias
      AND bit_count(similarity_key::bit(64)) >= 8
      AND bit_count((similarity_key # %(key)s::bigint)::bit(64)) <= %(distance)s
      AND url_hash <> %(url_hash)s AND (%(namespace)s::text = '' OR namespace = %(namespace)s)
      AND (bit_count((similarity_key # %(key)s::bigint)::bit(64)), namespace, group_id, name)
          > (%(after_distance)s, %(after_namespace)s, %(after_group)s, %(after_name)s)
    ORDER BY distance, namespace, group_id, name
    LIMIT %(limit)s
) AS s
LEFT JOIN pictures p ON p.url_hash = s.url_hash
ORDER BY s.distance, s.namespace, s.group_id, s.name

-- name: lock_without_key
SELECT namespace, group_id, name, info
FROM stored_pictures
WHERE similarity_key IS NULL AND (namespace, group_id, name) > (%(namespace)s, %(group_id)s, %(name)s)
ORDER BY namespace, group_id, name
LIMIT %(limit)s
FOR UPDATE

-- name: fill_keys
UPDATE stored_pictures s
SET similarity_key = filled.similarity_key
FROM unnest(%(namespaces)s::text[], %(groups)s::integer[], %(names)s::text[], %(keys)s::bigint[])
     AS filled(namespace, group_id, name, similarity_key)
WHERE s.namespace = filled.namespace AND s.group_id = filled.group_id AND s.name = filled.name
