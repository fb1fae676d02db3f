"""Entry points of Kafka: decode and call."""
