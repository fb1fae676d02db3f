-- Statistics of the event log.

-- name: count_decisions
-- Applied decisions by interval, kind and status: all of them, by tag, by region, by verdict.
WITH d AS (
    SELECT date_trunc(%(interval)s, recorded_at, 'UTC') AS begin, kind, status, is_automatic, waited_s, tags_after, region_ids,
           verdicts
    FROM decisions
    WHERE is_applied AND recorded_at >= date_trunc(%(interval)s, clock_timestamp(), 'UTC')
                                        - (%(intervals)s - 1) * make_interval(hours => %(hours)s)
), by_dimension AS (
    SELECT begin, kind, status, is_automatic, waited_s, 'total' AS dimension, '' AS value FROM d
    UNION ALL
    SELECT begin, kind, status, is_automatic, waited_s, 'tag', tag FROM d, unnest(tags_after) AS tag
    UNION ALL
    SELECT begin, kind, status, is_automatic, waited_s, 'region', region_ids[cardinality(region_ids)]::text
    FROM d
    WHERE cardinality(region_ids) > 0
    UNION ALL
    SELECT begin, kind, status, is_automatic, waited_s, 'verdict', verdict ->> 'name'
    FROM d, jsonb_array_elements(verdicts) AS verdict
)
SELECT extract(epoch from begin)::bigint AS begin_s, kind, status, dimension, value, count(*) AS decisions,
       count(*) FILTER (WHERE is_automatic) AS automatic,
       coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY waited_s), 0) AS wait_p50_s,
       coalesce(percentile_disc(0.99) WITHIN GROUP (ORDER BY waited_s), 0) AS wait_p99_s
FROM by_dimension
GROUP BY begin, kind, status, dimension, value
ORDER BY begin, kind, status, dimension, value
