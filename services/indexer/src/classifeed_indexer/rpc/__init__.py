"""The gRPC services of the indexer."""
