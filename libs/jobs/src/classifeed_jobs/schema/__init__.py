"""The job tables: their DDL for migrations, their schema, and the promotion of blocked jobs."""
