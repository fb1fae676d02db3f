"""The indexer: takes elements off the receiver's queues, converts their documents, delivers them to the index's topics.

It owns how far each consumer group has come, and which process works for which shard. It promises: an offset moves
only once everything up to it is acknowledged by Kafka or set aside in the queue `failed`; it never skips and never runs
back, whichever processes pause, die or return; where the queue itself went back or was trimmed, the shard is filled
again from the registry; a document that cannot be converted stops nobody.
"""
