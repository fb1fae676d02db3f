"""Searches by gRPC compared with the engine in one process, SQLite FTS5 and PostgreSQL (`make bench-search`)."""
