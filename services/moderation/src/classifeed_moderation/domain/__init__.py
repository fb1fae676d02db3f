"""Texts, verdicts and rules: pure functions without database, Kafka or network."""
