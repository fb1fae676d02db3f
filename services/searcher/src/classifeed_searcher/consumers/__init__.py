"""Consumers of the topics of index documents."""
