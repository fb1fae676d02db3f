"""Entry points of Kafka: decode records and call use cases."""
