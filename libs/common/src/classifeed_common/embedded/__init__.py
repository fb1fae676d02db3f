"""The embedded default: real PostgreSQL, Apache Kafka and an S3 server out of wheels, without root or containers.

Every server is one class with the same shape (`prepare`, `spawn`, `wait_ready`, `stop`, `kill`), binds loopback only,
keeps its data in the folder it is given, and dies with the process that started it (ADR 0013).
"""
