"""Documents of a client on their way to the receiver: schema, pushes, and what both sides know of each other."""

from __future__ import annotations

from classifeed_domain.publishing.comparison import Differences, RegistryComparison, Unequal
from classifeed_domain.publishing.publisher import DocumentPublisher, Documents, Loss
from classifeed_domain.publishing.receiver import PushedDocuments, ReceiverClient
from classifeed_domain.publishing.schemas import put_schema

__all__ = [
    "Differences",
    "DocumentPublisher",
    "Documents",
    "Loss",
    "PushedDocuments",
    "ReceiverClient",
    "RegistryComparison",
    "Unequal",
    "put_schema",
]
