"""The job engine compared with other engines, on one PostgreSQL with the same durability."""
