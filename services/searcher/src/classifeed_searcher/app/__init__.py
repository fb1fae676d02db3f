"""The use cases of the searcher, one per file."""
