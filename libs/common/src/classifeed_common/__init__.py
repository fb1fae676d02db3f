"""The library that every service uses: settings, databases, Kafka, gRPC, HTTP, tokens and shared mechanisms."""
