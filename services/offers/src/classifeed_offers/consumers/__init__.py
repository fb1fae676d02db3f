"""Handlers of Kafka messages."""
