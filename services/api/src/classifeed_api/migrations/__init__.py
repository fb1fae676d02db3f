"""Alembic history of the schema `api`."""
