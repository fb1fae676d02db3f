-- name: hold_leases
-- Select the leases that are still ours, and lock them until the transaction ends: no process takes a shard over before
-- our offsets are committed. Leases.guard takes the same lock for one lease.
SELECT l.name
  FROM unnest(%(names)s::text[], %(holders)s::text[], %(fences)s::bigint[]) AS ours (name, holder, fence)
  JOIN leases l ON l.name = ours.name AND l.holder = ours.holder AND l.fence = ours.fence
 WHERE l.expires_at > clock_timestamp()
   FOR KEY SHARE OF l
