"""The job engine beside its peers, on one PostgreSQL with the same durability."""
