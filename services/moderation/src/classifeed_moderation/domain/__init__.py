"""Texts, verdicts and rules: pure, without database, Kafka or network."""
