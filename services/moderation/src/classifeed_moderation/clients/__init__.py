"""Clients of other services: the verdict service."""
