"""Alembic history of the schema `offers`."""
