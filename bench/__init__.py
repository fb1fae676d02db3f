"""Benchmarks: one folder a subject; each prints a table and one JSON line."""
