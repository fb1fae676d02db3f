"""Clients of the outer world."""
