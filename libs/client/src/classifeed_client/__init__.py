"""Typed, synchronous client of Classifeed's public APIs, for the command line, for tests and for other teams."""

from classifeed_client.client import Addresses, Client
from classifeed_client.errors import ApiError, DeadlineExceeded, FieldViolation, Refused, Unreachable

__all__ = ["Addresses", "ApiError", "Client", "DeadlineExceeded", "FieldViolation", "Refused", "Unreachable"]
