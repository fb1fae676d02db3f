"""What an offer is and how a load changes it: pure, without database, Kafka or network."""
