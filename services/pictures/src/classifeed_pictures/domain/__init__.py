"""States of pictures and what changes them: pure, without database, Kafka or network."""
