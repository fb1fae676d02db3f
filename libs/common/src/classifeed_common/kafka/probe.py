"""Check whether the brokers can be reached at all, with a new client."""

from __future__ import annotations

from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

_LIMIT_S: Final = 5.0


def are_brokers_reachable(bootstrap: str) -> bool:
    """Return whether a broker replies to a new client within 5 s. Blocks.

    librdkafka's clients sometimes lose all their brokers, and never find them again, after a broker and its client were
    paused one after the other. If this check succeeds while a client gets nothing, the client is at fault.
    """
    config: dict[str, Any] = {"bootstrap.servers": bootstrap, "client.id": "probe", "log_level": 0}
    client = AdminClient(config)  # stored: a temporary client fails
    try:
        return bool(client.list_topics(timeout=_LIMIT_S).brokers)
    except KafkaException:
        return False
