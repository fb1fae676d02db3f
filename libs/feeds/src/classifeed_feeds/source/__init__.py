"""Access to the bytes of a feed file: containers, encodings, positions, and limits."""
