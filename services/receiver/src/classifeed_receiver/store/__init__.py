"""All SQL of the receiver: registry, queues, schemas."""
