"""The doors of Kafka: decode and call."""
