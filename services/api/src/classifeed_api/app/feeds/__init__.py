"""Feeds: created, changed, paused, run, deleted, and read with the state of their loads."""
