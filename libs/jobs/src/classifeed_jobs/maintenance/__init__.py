"""Maintenance of the tables: requeues lost jobs, deletes old rows, and exports metrics."""
