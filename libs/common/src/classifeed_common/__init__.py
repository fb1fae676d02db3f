"""What every service stands on: settings, databases, Kafka, gRPC, tickets, and the mechanisms built once for all."""
