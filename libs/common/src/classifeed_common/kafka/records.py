"""Messages to Kafka (Message) and records from it (Record), with the two headers that every message has.

`type` names the protobuf message of the value, so that a topic may have several types. `traceparent` (and `tracestate`)
propagate the trace, as W3C Trace Context defines them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import Message as ProtobufMessage
from opentelemetry.context import Context

from classifeed_common.telemetry.tracing import context_of, kept_trace

TYPE_HEADER: Final = "type"
TRACEPARENT_HEADER: Final = "traceparent"
TRACESTATE_HEADER: Final = "tracestate"

CLIENT_CONFIG: Final[Mapping[str, str | int | float | bool]] = {
    "reconnect.backoff.max.ms": 1000,
    # A broker that was paused lists no brokers at first, and librdkafka then drops those that it knew. By default it
    # returns to the bootstrap servers only after five minutes.
    "metadata.recovery.rebootstrap.trigger.ms": 10_000,
    "log_level": 3,
}
"""Configuration of every Kafka client."""

KAFKA_UNAVAILABLE: Final = "KAFKA_UNAVAILABLE"  # the reason of every Unavailable that Kafka causes

# librdkafka refuses larger messages locally; a message that can never be sent is refused where it is made.
MAX_MESSAGE_BYTES: Final = 1_000_000
_OVERHEAD_BYTES: Final = 512


@dataclass(frozen=True, slots=True)
class Record:
    """One record read from a partition; its value is not decoded."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    headers: Mapping[str, bytes]
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message to send. Without a partition, the key's hash chooses it, as in Kafka's Java clients."""

    topic: str
    key: bytes | None
    value: bytes
    headers: Mapping[str, bytes] = field(default_factory=dict)
    partition: int | None = None

    @property
    def size_bytes(self) -> int:
        """Size that counts against `MAX_MESSAGE_BYTES` in bytes, slightly overestimated."""
        headers = sum(len(name) + len(value) for name, value in self.headers.items())
        return len(self.key or b"") + len(self.value) + headers + _OVERHEAD_BYTES


def message_of(
    topic: str,
    key: bytes | None,
    proto: ProtobufMessage,
    *,
    partition: int | None = None,
    trace: Context | None = None,
) -> Message:
    """Return `proto` as a message, with its type and a trace (default: the current one) in the headers."""
    headers = {TYPE_HEADER: proto.DESCRIPTOR.full_name.encode()}
    headers.update(trace_headers(trace))
    return Message(topic, key, proto.SerializeToString(), headers, partition)


def type_of(record: Record) -> str:
    """Return the full name of the record's protobuf message, or "" if its sender named none."""
    return record.headers.get(TYPE_HEADER, b"").decode("utf-8", "replace")


def trace_headers(context: Context | None = None) -> dict[str, bytes]:
    """Return the headers for `context` (default: the current one); empty outside any trace."""
    return {name: value.encode() for name, value in kept_trace(context).items()}


def trace_context(record: Record) -> Context:
    """Return the trace context of the record's sender; an empty one if there was none."""
    carrier = {
        name: value.decode("ascii", "replace")
        for name, value in record.headers.items()
        if name in (TRACEPARENT_HEADER, TRACESTATE_HEADER)
    }
    return context_of(carrier)


def headers_of(pairs: Sequence[tuple[str, bytes | None]] | None) -> Mapping[str, bytes]:
    """Return librdkafka's list of headers as a mapping; the last value of a repeated name wins."""
    if not pairs:
        return _NO_HEADERS
    return {name: value or b"" for name, value in pairs}


_NO_HEADERS: Final[Mapping[str, bytes]] = {}
