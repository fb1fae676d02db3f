"""Use cases of a load's issues: read them as one list, pack them into a file, export them."""
