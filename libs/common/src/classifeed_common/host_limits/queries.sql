-- Permits for requests to hosts (ADR 0059).

-- name: draw
-- Returns and renews permits of a host, applies the report on it, and draws a permit if wanted. If a permit was not used
-- and nobody has drawn one since, its time is available again. The clock is read after the row is locked. No row: the
-- host is new.
  WITH locked AS MATERIALIZED (
       SELECT * FROM fetch_hosts WHERE host = %(host)s FOR UPDATE),
       current AS MATERIALIZED (
       SELECT *, clock_timestamp() AS now FROM locked),
       reported AS (
       SELECT host, now, (extract(epoch FROM now) * 1000000)::bigint AS now_us, held,
              greatest(%(lowest)s::float8, least(%(highest)s::float8, rate + %(step)s::float8, %(ceiling)s::float8))
                AS rate,
              least(CASE WHEN sent_at = %(unsent_at)s::timestamptz THEN %(unsent_before)s::timestamptz ELSE sent_at END,
                    now) AS sent_at,  -- the clock may have been set back
              greatest(paused_until, now + %(pause_s)s::float8 * interval '1 second') AS paused_until,
              CASE WHEN %(ok)s::bigint > 0 THEN NULL
                   WHEN %(slow_down)s::bigint + %(refused)s::bigint > 0 THEN coalesce(refused_since, now)
                   ELSE refused_since
              END AS refused_since
         FROM current),
       returned AS (
       SELECT reported.*,
              ARRAY(SELECT permit FROM unnest(held || %(added)s::bigint[]) AS permit
                     WHERE permit > now_us AND permit <> ALL (%(released)s::bigint[])) AS in_use,
              sent_at + interval '1 second' * (%(window_s)s::float8 / CASE WHEN rate < 1 THEN rate ELSE floor(rate) END)
                AS due_at
         FROM reported),
       judged AS MATERIALIZED (
       SELECT returned.*,
              CASE WHEN %(wants)s::boolean AND paused_until <= now AND due_at <= now
                        AND cardinality(in_use) < %(at_a_time)s::bigint
                   THEN greatest(now_us + %(hold_us)s::bigint, (SELECT max(permit) + 1 FROM unnest(in_use) AS permit))
              END AS permit
         FROM returned)
UPDATE fetch_hosts AS known
   SET rate = judged.rate, sent_at = CASE WHEN permit IS NULL THEN judged.sent_at ELSE now END,
       held = CASE WHEN permit IS NULL THEN in_use ELSE in_use || permit END,
       paused_until = judged.paused_until, refused_since = judged.refused_since,
       ok_count = ok_count + %(ok)s::bigint, slow_down_count = slow_down_count + %(slow_down)s::bigint,
       failed_count = failed_count + %(refused)s::bigint + %(failed)s::bigint, version = version + 1, updated_at = now
  FROM judged
 WHERE known.host = judged.host
RETURNING permit, now, now::text AS sent_at, judged.sent_at::text AS sent_before, judged.rate,
          extract(epoch FROM greatest(judged.paused_until, now) - now)::float8 AS pause_s,
          extract(epoch FROM greatest(due_at, now) - now)::float8 AS due_s

-- name: add
INSERT INTO fetch_hosts (host, rate) VALUES (%(host)s, %(first)s) ON CONFLICT (host) DO NOTHING

-- name: forget
-- Hosts without requests for a long time.
DELETE FROM fetch_hosts
 WHERE host IN (SELECT host
                  FROM fetch_hosts
                 WHERE updated_at < %(before)s AND paused_until < clock_timestamp()
                 ORDER BY host
                 LIMIT %(limit)s
                   FOR UPDATE SKIP LOCKED)

-- name: list_refusing
-- Hosts without a success for the given time, the longest first. Left out are hosts that had no request since then, or
-- none lately.
SELECT host
  FROM fetch_hosts
 WHERE refused_since < clock_timestamp() - make_interval(secs => %(for_s)s)
   AND updated_at >= refused_since + make_interval(secs => %(for_s)s)
   AND updated_at > clock_timestamp() - make_interval(secs => %(wanted_s)s)
 ORDER BY refused_since
 LIMIT %(limit)s
