"""Enqueuing and lookup of jobs in the caller's transaction."""
