"""Benchmarks: one folder for each subject. Each prints a table and one JSON line."""
