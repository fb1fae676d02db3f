"""The indexer reads elements from the receiver's queues, converts their documents and sends them to the index's topics.

It owns the offsets of each consumer group and the leases of the shards. It promises:
- An offset moves only after Kafka has acknowledged everything up to it, or the queue `failed` has taken it.
- An offset never skips elements and never moves back, even if processes pause, die or return.
- If the queue itself went back or was trimmed, the shard is refilled from the registry.
- A document that cannot be converted blocks no other document.
"""
