"""Clients of other services: receivers of callbacks."""
