"""Processes that search beside the service."""
