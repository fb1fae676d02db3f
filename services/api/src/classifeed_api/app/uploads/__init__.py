"""Uploads: how many at once, and each stored so that a task will load it."""
