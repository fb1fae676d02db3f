-- Points, their comments and votes. A change of a point compares its version (optimistic locking).

-- name: add_point
-- A point is published only once its text is approved: a waiting point is not due.
INSERT INTO points (point_id, author_id, author_role, tags, latitude, longitude, version, published_version)
SELECT %(point_id)s, %(author_id)s, %(author_role)s, %(tags)s::text[], %(latitude)s, %(longitude)s, v.version,
       CASE WHEN %(is_approved)s THEN 0 ELSE v.version END
FROM (SELECT (extract(epoch from clock_timestamp()) * 1000000)::bigint) AS v (version)
ON CONFLICT (point_id) DO NOTHING

-- name: find_point
SELECT point_id, author_id, author_role, tags, latitude, longitude, votes_for, votes_against, comments, version, created_at,
       updated_at, removed_at
FROM points
WHERE point_id = %(point_id)s

-- name: write_point
-- The changeable fields of a point, if the point has not changed since it was read.
UPDATE points
SET tags = %(tags)s::text[], votes_for = %(votes_for)s, votes_against = %(votes_against)s, comments = %(comments)s,
    removed_at = %(removed_at)s, updated_at = clock_timestamp(),
    version = greatest(version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
WHERE point_id = %(point_id)s AND version = %(version)s

-- name: list_area
SELECT p.point_id, p.author_id, p.author_role, p.tags, p.latitude, p.longitude, p.votes_for, p.votes_against, p.comments,
       p.version, p.created_at, p.updated_at, p.removed_at
FROM points p
JOIN subjects s ON s.subject_key = p.point_id::text
WHERE p.removed_at IS NULL AND p.latitude BETWEEN %(south)s::float8 AND %(north)s::float8
  AND CASE WHEN %(west)s::float8 <= %(east)s::float8 THEN p.longitude BETWEEN %(west)s::float8 AND %(east)s::float8
           ELSE p.longitude >= %(west)s::float8 OR p.longitude <= %(east)s::float8 END
  AND (%(tags)s::text[] = '{}' OR p.tags && %(tags)s::text[])
  AND (%(any_status)s OR s.status = 'APPROVED'
       OR s.status = 'PENDING' AND %(shown_after_s)s::float8 IS NOT NULL
          AND s.started < clock_timestamp() - %(shown_after_s)s * interval '1 second')
  AND (p.created_at, p.point_id) > (%(after_time)s::timestamptz, %(after_id)s::uuid)
ORDER BY p.created_at, p.point_id
LIMIT %(limit)s

-- name: find_vote
SELECT is_for FROM votes WHERE point_id = %(point_id)s AND author_id = %(author_id)s

-- name: put_vote
INSERT INTO votes (point_id, author_id, is_for) VALUES (%(point_id)s, %(author_id)s, %(is_for)s)
ON CONFLICT (point_id, author_id) DO UPDATE SET is_for = excluded.is_for, voted_at = clock_timestamp()

-- name: add_comment
INSERT INTO comments (point_id, idx, author_id, author_role, request_id)
VALUES (%(point_id)s, %(idx)s, %(author_id)s, %(author_role)s, %(request_id)s)

-- name: find_comment
SELECT idx, author_id, author_role, created_at FROM comments WHERE point_id = %(point_id)s AND request_id = %(request_id)s

-- name: list_comments
-- Comments of a point with their texts.
SELECT c.idx, c.author_id, c.author_role, c.created_at, s.subject_key
FROM comments c
JOIN subjects s ON s.subject_key = c.point_id::text || '/' || c.idx
WHERE c.point_id = %(point_id)s
  AND (%(any_status)s OR s.status = 'APPROVED'
       OR s.status = 'PENDING' AND %(shown_after_s)s::float8 IS NOT NULL
          AND s.started < clock_timestamp() - %(shown_after_s)s * interval '1 second')
ORDER BY c.idx
LIMIT %(limit)s

-- name: count_without_texts
-- Points and comments without texts, counted up to a limit, and one of the points.
SELECT count(*), min(point_id::text)
FROM (
    (SELECT p.point_id
     FROM points p
     WHERE p.removed_at IS NULL AND NOT EXISTS (SELECT FROM subjects s WHERE s.subject_key = p.point_id::text)
     LIMIT %(limit)s)
    UNION ALL
    (SELECT c.point_id
     FROM comments c
     JOIN points p USING (point_id)
     WHERE p.removed_at IS NULL
       AND NOT EXISTS (SELECT FROM subjects s WHERE s.subject_key = c.point_id::text || '/' || c.idx)
     LIMIT %(limit)s)
) AS lost
