"""Everything that this service keeps, and all SQL about it."""
