"""What documents, schemas and shards are; pure, without a database."""
