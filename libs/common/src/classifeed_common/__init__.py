"""What every service stands on: settings, databases, Kafka, gRPC, tokens, and the mechanisms built once for all."""
