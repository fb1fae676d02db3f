"""Kafka for every service: messages, producer, topics, and a consumer with exactly-once effects."""

from __future__ import annotations

from classifeed_common.kafka.consuming.consumer import OrderedConsumer
from classifeed_common.kafka.dead_letters import DeadLetters, Poison, decode_all
from classifeed_common.kafka.positions import (
    GroupPartition,
    LogLost,
    OffsetOutsideLog,
    Position,
    Positions,
    TopicGrown,
    TopicRecreated,
    ZombieConsumer,
)
from classifeed_common.kafka.producer import KafkaProducer
from classifeed_common.kafka.records import (
    MAX_MESSAGE_BYTES,
    TYPE_HEADER,
    Message,
    Record,
    message_of,
    trace_context,
    trace_headers,
    type_of,
)
from classifeed_common.kafka.table_positions import NotifyingPositions, TablePositions
from classifeed_common.kafka.topics.cluster import Cluster, ensure_topics
from classifeed_common.kafka.topics.topics import (
    Topic,
    dlq,
)
from classifeed_common.kafka.traces import trace_of

__all__ = [
    "MAX_MESSAGE_BYTES",
    "TYPE_HEADER",
    "Cluster",
    "DeadLetters",
    "GroupPartition",
    "KafkaProducer",
    "LogLost",
    "Message",
    "NotifyingPositions",
    "OffsetOutsideLog",
    "OrderedConsumer",
    "Poison",
    "Position",
    "Positions",
    "Record",
    "TablePositions",
    "Topic",
    "TopicGrown",
    "TopicRecreated",
    "ZombieConsumer",
    "decode_all",
    "dlq",
    "ensure_topics",
    "message_of",
    "trace_context",
    "trace_headers",
    "trace_of",
    "type_of",
]
