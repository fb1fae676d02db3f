"""What is removed or found in the background: expired documents, passed elements, abandoned epochs."""
