"""Offers and the effects of loads on them: pure functions without database, Kafka or network."""
