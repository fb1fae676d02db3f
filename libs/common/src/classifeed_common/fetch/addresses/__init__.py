"""Addresses: URLs, networks and ports, and which of them may be fetched from."""
