"""Fixtures; to be filled."""
