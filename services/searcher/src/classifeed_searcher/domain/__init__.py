"""Queries, watermarks and rebuilds as plain data; no I/O."""
