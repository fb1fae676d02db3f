"""What lies on disk beside the index."""
