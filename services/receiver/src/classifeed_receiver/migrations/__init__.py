"""Alembic revisions of the schema `receiver`."""
