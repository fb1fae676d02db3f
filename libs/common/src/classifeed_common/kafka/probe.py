"""Whether the brokers can be reached at all: probed through a client of its own, made for that."""

from __future__ import annotations

from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

_LIMIT_S: Final = 5.0


def are_brokers_reachable(bootstrap: str) -> bool:
    """Return whether a broker replies to a new client within 5 s. Blocks.

    librdkafka's clients have been seen to lose all their brokers when a broker and its client stand still one after the
    other, and never to find them again. Where this says yes and a client still gets nothing, the client is at fault.
    """
    config: dict[str, Any] = {"bootstrap.servers": bootstrap, "client.id": "probe", "log_level": 0}
    client = AdminClient(config)  # kept in a variable: a temporary client fails
    try:
        return bool(client.list_topics(timeout=_LIMIT_S).brokers)
    except KafkaException:
        return False
