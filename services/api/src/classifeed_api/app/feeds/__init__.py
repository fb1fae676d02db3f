"""Feeds: created, changed, switched, run, removed, and read with how their loads stand."""
