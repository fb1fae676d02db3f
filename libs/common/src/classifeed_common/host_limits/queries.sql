-- Permits for requests to hosts (ADR 0059).

-- name: draw
-- One round of a process. For each host it returns and renews permits, applies the report, and draws a permit if
-- wanted. If a permit was not used and nobody has drawn one since, its time is available again. Rows are locked in the
-- order of their names, and the clock is read after the lock. Missing rows are inserted. If another process inserted
-- one at the same moment, that row is left alone and not returned.
  WITH wanted AS MATERIALIZED (
       SELECT *
         FROM jsonb_to_recordset(%(wanted)s::jsonb)
              AS wanted (host text, wants boolean, released bigint[], added bigint[], unsent_at timestamptz,
                        unsent_before timestamptz, step float8, ceiling float8,
                        pause_s float8, ok bigint, slow_down bigint, refused bigint, failed bigint)),
       locked AS MATERIALIZED (
       SELECT * FROM fetch_hosts WHERE host = ANY(%(hosts)s::text[]) ORDER BY host FOR UPDATE),
       current AS MATERIALIZED (
       SELECT host, rate, sent_at, held, paused_until, ok_count, slow_down_count, failed_count, version,
              refused_since, clock_timestamp() AS now
         FROM locked
        UNION ALL
       SELECT host, %(first)s, '-infinity', '{}', '-infinity', 0, 0, 0, 0, NULL, clock_timestamp()
         FROM wanted
        WHERE host NOT IN (SELECT host FROM locked)),
       reported AS (
       SELECT host, now, version, wants, released, added, (extract(epoch FROM now) * 1000000)::bigint AS now_us,
              greatest(%(lowest)s, least(%(highest)s, rate + step, ceiling)) AS rate,
              least(CASE WHEN sent_at = unsent_at THEN unsent_before ELSE sent_at END, now)
                AS sent_at,  -- the clock may have been set back
              held,
              greatest(paused_until, now + pause_s * interval '1 second') AS paused_until,
              ok_count + ok AS ok_count,
              slow_down_count + slow_down AS slow_down_count,
              failed_count + refused + failed AS failed_count,
              CASE WHEN ok > 0 THEN NULL
                   WHEN slow_down + refused > 0 THEN coalesce(refused_since, now)
                   ELSE refused_since
              END AS refused_since
         FROM current JOIN wanted USING (host)),
       returned AS (
       SELECT reported.*,
              ARRAY(SELECT permit FROM unnest(held || added) AS permit
                     WHERE permit > now_us AND permit <> ALL (released)) AS in_use,
              sent_at + interval '1 second' * (%(window_s)s / CASE WHEN rate < 1 THEN rate ELSE floor(rate) END) AS due_at
         FROM reported),
       judged AS MATERIALIZED (
       SELECT returned.*,
              CASE WHEN wants AND paused_until <= now AND due_at <= now AND cardinality(in_use) < %(at_a_time)s
                   THEN greatest(now_us + %(hold_us)s, (SELECT max(permit) + 1 FROM unnest(in_use) AS permit))
              END AS permit
         FROM returned),
       stored AS (
       INSERT INTO fetch_hosts AS known
              (host, rate, sent_at, held, paused_until, ok_count, slow_down_count, failed_count, version, updated_at,
               refused_since)
       SELECT host, rate, CASE WHEN permit IS NULL THEN sent_at ELSE now END,
              CASE WHEN permit IS NULL THEN in_use ELSE in_use || permit END,
              paused_until, ok_count, slow_down_count, failed_count, version + 1, now, refused_since
         FROM judged
        ORDER BY host
           ON CONFLICT (host) DO UPDATE
          SET rate = excluded.rate, sent_at = excluded.sent_at, held = excluded.held,
              paused_until = excluded.paused_until, ok_count = excluded.ok_count,
              slow_down_count = excluded.slow_down_count, failed_count = excluded.failed_count,
              version = excluded.version, updated_at = excluded.updated_at, refused_since = excluded.refused_since
        WHERE known.version = excluded.version - 1
       RETURNING host)
SELECT host, permit, now, now::text AS sent_at, sent_at::text AS sent_before, rate,
       extract(epoch FROM greatest(paused_until, now) - now)::float8 AS pause_s,
       extract(epoch FROM greatest(due_at, now) - now)::float8 AS due_s
  FROM judged JOIN stored USING (host)

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
