"""Use cases of the indexers: read queues and shards, refill shards, report progress."""
