-- Since when a host has refused requests, without one success in between; null: it has not. It changes seldom,
-- so that the updates of each request still stay in place.
ALTER TABLE fetch_hosts ADD COLUMN refused_since timestamptz;
CREATE INDEX fetch_hosts_refused ON fetch_hosts (refused_since) WHERE refused_since IS NOT NULL;
