"""Typed, synchronous client of Classifeed's public APIs, for the command line, for tests and for other teams."""

from classifeed_client.client import Client
from classifeed_client.connection import Addresses
from classifeed_client.errors import ApiError, DeadlineExceeded, FieldViolation, Refused, Unreachable
from classifeed_client.index import INDEX_SERVICES, IndexClient
from classifeed_client.jobs import JOB_SERVICES, JobClient
from classifeed_client.names import feed_name, format_name, offer_name, seller_name, task_name

__all__ = [
    "INDEX_SERVICES",
    "JOB_SERVICES",
    "Addresses",
    "ApiError",
    "Client",
    "DeadlineExceeded",
    "FieldViolation",
    "IndexClient",
    "JobClient",
    "Refused",
    "Unreachable",
    "feed_name",
    "format_name",
    "offer_name",
    "seller_name",
    "task_name",
]
