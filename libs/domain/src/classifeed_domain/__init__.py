"""Rules that the services share in addition to the protos: resource names, topics, shards and permissions."""
