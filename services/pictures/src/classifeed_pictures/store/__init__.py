"""Everything that this service keeps, and all SQL about it. Every function runs in its caller's transaction."""
