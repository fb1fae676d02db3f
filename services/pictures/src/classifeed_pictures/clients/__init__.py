"""Clients of other services and of object stores, and readers of files."""
