"""The outbox: messages to Kafka that are sent if and only if their transaction commits (ADR 0005)."""

from __future__ import annotations

from classifeed_common.outbox.outbox import Outbox
from classifeed_common.outbox.relay import Relay

__all__ = ["Outbox", "Relay"]
