"""What the indexer answers over gRPC."""
