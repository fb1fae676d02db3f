"""The outbox: messages to Kafka that hold together with the transaction that they report (ADR 0005)."""

from __future__ import annotations

from classifeed_common.outbox.outbox import Outbox
from classifeed_common.outbox.relay import Relay

__all__ = ["Outbox", "Relay"]
