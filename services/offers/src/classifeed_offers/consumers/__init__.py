"""What comes in through Kafka."""
