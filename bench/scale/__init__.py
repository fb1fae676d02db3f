"""Several processes of each role: what an offer costs with one, two and four, and what an offer takes on disk."""
