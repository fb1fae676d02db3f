"""Handlers of Kafka messages: texts of offers."""
