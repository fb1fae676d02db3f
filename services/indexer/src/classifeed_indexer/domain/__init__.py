"""Shards, and how a document becomes what the index takes; pure."""
