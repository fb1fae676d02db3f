"""Queues and shards as the indexers read them, fill them again, and report how far they are."""
