"""Backups of the state of pictures, and their restore."""
