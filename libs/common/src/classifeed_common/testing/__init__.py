"""Fixtures shipped for the tests of every package: real servers, fresh databases, in-process gRPC."""
