-- Time since which a host has refused all requests; null: it has not. The column changes seldom, so the updates of each
-- request still stay in place.
ALTER TABLE fetch_hosts ADD COLUMN refused_since timestamptz;
CREATE INDEX fetch_hosts_refused ON fetch_hosts (refused_since) WHERE refused_since IS NOT NULL;
