"""CPU of an offer in each role with one, two and four processes, and bytes of an offer on disk."""
