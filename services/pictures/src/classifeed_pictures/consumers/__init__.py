"""Entry points of Kafka: requests, events, orders."""
