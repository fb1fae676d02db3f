"""Entry points of Kafka: texts of offers."""
