"""Documents, schemas and cursors as plain data and pure functions; no I/O."""
