"""Use cases, one in each file."""
