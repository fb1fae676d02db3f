"""What the loader knows without any door or store: sources, fetches, and how they end."""
