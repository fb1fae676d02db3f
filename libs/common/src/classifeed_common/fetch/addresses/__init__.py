"""Checks of URLs, networks and ports: which of them may be fetched from."""
