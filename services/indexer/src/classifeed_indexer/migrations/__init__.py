"""Alembic revisions of the schema `indexer`."""
