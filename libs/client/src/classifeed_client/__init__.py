"""Typed client of Classifeed's public APIs, for other teams, the command line and tests; `aio` is for asyncio."""

from classifeed_client.client import Client
from classifeed_client.environment import Addresses, read_environment
from classifeed_client.errors import ApiError, DeadlineExceeded, FieldViolation, Peer, Refused, Unreachable
from classifeed_client.index import INDEX_SERVICES, IndexClient
from classifeed_client.jobs import JOB_SERVICES, JobClient
from classifeed_client.moderation import MODERATION_SERVICES, ModerationClient
from classifeed_client.names import feed_name, format_name, offer_name, seller_name, task_name
from classifeed_client.pictures import PICTURE_SERVICES, PictureClient

__all__ = [
    "INDEX_SERVICES",
    "JOB_SERVICES",
    "MODERATION_SERVICES",
    "PICTURE_SERVICES",
    "Addresses",
    "ApiError",
    "Client",
    "DeadlineExceeded",
    "FieldViolation",
    "IndexClient",
    "JobClient",
    "ModerationClient",
    "Peer",
    "PictureClient",
    "Refused",
    "Unreachable",
    "feed_name",
    "format_name",
    "offer_name",
    "read_environment",
    "seller_name",
    "task_name",
]
