"""Publishing of a client's documents to the receiver: schema, pushes, positions and comparison."""

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
