"""Test fixtures for every package: real servers, new databases, in-process gRPC."""
