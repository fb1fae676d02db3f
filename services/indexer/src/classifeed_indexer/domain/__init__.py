"""Shards, and conversion of documents for the index; no I/O."""
