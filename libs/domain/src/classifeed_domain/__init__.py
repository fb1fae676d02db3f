"""What the services agree on beside the protos: names of offers and namespaces, topics, shards, who may call what."""
