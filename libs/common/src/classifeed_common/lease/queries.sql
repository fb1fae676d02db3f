-- Locks (ADR 0006): a guarded transaction locks its lease's row FOR KEY SHARE. A renewal changes no key, so it does not
-- wait for such a lock. A takeover locks FOR UPDATE, so it waits for guarded work (or skips the row and retries later).

-- name: make_missing
INSERT INTO leases (name, holder, fence, expires_at)
SELECT wanted.name, '', 0, '-infinity'
  FROM unnest(%(names)s::text[]) AS wanted (name)
 WHERE NOT EXISTS (SELECT FROM leases WHERE leases.name = wanted.name)
    ON CONFLICT (name) DO NOTHING

-- name: acquire
-- The fence is at least the clock, so that a table restored from a backup gives no fence twice (ADR 0030).
  WITH free AS (
       SELECT name
         FROM leases
        WHERE name = ANY(%(names)s::text[]) AND expires_at <= clock_timestamp()
        LIMIT %(count)s
          FOR UPDATE SKIP LOCKED)
UPDATE leases
   SET holder = %(holder)s,
       fence = greatest(fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
       expires_at = clock_timestamp() + make_interval(secs => %(ttl_s)s)
  FROM free
 WHERE leases.name = free.name
RETURNING leases.name, leases.fence

-- name: renew
-- An expired lease that nobody took is renewed too: it had no other holder in between.
UPDATE leases
   SET expires_at = clock_timestamp() + make_interval(secs => %(ttl_s)s)
  FROM unnest(%(names)s::text[], %(holders)s::text[], %(fences)s::bigint[]) AS held (name, holder, fence)
 WHERE leases.name = held.name AND leases.holder = held.holder AND leases.fence = held.fence
RETURNING leases.name

-- name: release
UPDATE leases
   SET expires_at = '-infinity'
 WHERE name = %(name)s AND holder = %(holder)s AND fence = %(fence)s

-- name: guard
SELECT 1
  FROM leases
 WHERE name = %(name)s AND holder = %(holder)s AND fence = %(fence)s AND expires_at > clock_timestamp()
   FOR KEY SHARE

-- name: revoke
SELECT name FROM leases WHERE name = %(name)s FOR UPDATE

-- name: expire_revoked
UPDATE leases
   SET fence = greatest(fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), expires_at = '-infinity'
 WHERE name = %(name)s

-- name: attend
INSERT INTO leases (name, holder, fence, expires_at, member_of)
VALUES (%(member)s, %(holder)s, 0, clock_timestamp() + make_interval(secs => %(ttl_s)s), %(group)s)
    ON CONFLICT (name) DO UPDATE SET expires_at = EXCLUDED.expires_at

-- name: leave
DELETE FROM leases
 WHERE member_of = %(group)s AND (name = %(member)s OR expires_at < clock_timestamp() - interval '1 hour')

-- name: members
SELECT holder
  FROM leases
 WHERE member_of = %(group)s AND expires_at > clock_timestamp()
 ORDER BY holder
