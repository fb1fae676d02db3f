"""The embedded platform: real PostgreSQL, Apache Kafka and an S3 server out of wheels, without root or containers.

Each server is a class with the same methods (`prepare`, `spawn`, `wait_ready`, `stop`, `kill`). It listens on loopback
only, stores its data in a given folder, and dies with the process that started it (ADR 0013).
"""
