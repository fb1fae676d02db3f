"""Clients of other services and of Kafka."""
