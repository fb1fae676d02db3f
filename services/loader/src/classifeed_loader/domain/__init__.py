"""What the loader knows without any entry point or store: sources, fetches, and their completion."""
