"""The use cases of the indexer."""
