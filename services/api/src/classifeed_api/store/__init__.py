"""Everything that the api keeps, and all SQL about it."""
