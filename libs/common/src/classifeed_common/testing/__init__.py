"""Fixtures shipped for the tests of every room: real servers, fresh databases, in-process gRPC."""
