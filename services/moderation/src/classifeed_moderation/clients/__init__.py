"""The outer world: the verdict service."""
