"""KafkaProducer: asyncio over librdkafka's synchronous producer, pipelined and idempotent.

`send` passes all messages to librdkafka at once and waits once. librdkafka keeps messages until they are acknowledged,
without a timeout: dropping a single message would break the order of its key, because later messages have already been
sent. Only the caller's wait has a timeout; messages may still arrive after it.

A client that delivers nothing while another one can reach the brokers is replaced. The senders of its messages get an
error, as for messages without an acknowledgement.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from classifeed_common.errors import InvalidArgument, Unavailable
from classifeed_common.kafka.probe import are_brokers_reachable
from classifeed_common.kafka.records import CLIENT_CONFIG, KAFKA_UNAVAILABLE, MAX_MESSAGE_BYTES, Message
from classifeed_common.telemetry import metrics

_log = structlog.get_logger(__name__)

DEFAULT_LIMIT_S: Final = 60.0
_POLL_S: Final = 0.1
_QUEUE_FULL_PAUSE_S: Final = 0.005
_STALLED_S: Final = 45.0
_PROBE_EVERY_S: Final = 15.0


class _Batch:
    """Counts the delivery reports of one `send`, and resolves its future once."""

    __slots__ = ("_left", "_loop", "error", "producer", "settled", "topic")

    def __init__(self, loop: asyncio.AbstractEventLoop, producer: Producer, size: int) -> None:
        self._loop = loop
        self.producer = producer
        self._left = size
        self.error: KafkaError | None = None
        self.topic: str | None = None
        self.settled: asyncio.Future[None] = loop.create_future()

    def report(self, error: KafkaError | None, message: Any) -> None:
        """Count a delivery report. Called only in the poll thread, so the count needs no lock."""
        self._left -= 1
        if error is not None and self.error is None:
            self.error, self.topic = error, message.topic()
        if self._left == 0:
            with suppress(RuntimeError):  # the sender's loop is closed: no sender waits any more
                self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        if not self.settled.done():
            self.settled.set_result(None)


class KafkaProducer:
    """Sends messages; an acknowledged message is written by all in-sync replicas. One per process is enough."""

    def __init__(self, bootstrap: str, *, client_id: str, linger_ms: int = 2) -> None:
        """Prepare a producer; nothing is connected before `start`.

        Args:
            bootstrap: addresses of brokers, comma separated.
            client_id: name of this client in the brokers' logs.
            linger_ms: milliseconds that librdkafka collects messages for a request.
        """
        self._bootstrap = bootstrap
        self._config: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "client.id": client_id,
            "enable.idempotence": True,
            "acks": "all",
            "message.timeout.ms": 0,  # no timeout: see the module's docstring
            "linger.ms": linger_ms,
            "compression.type": "lz4",
            "partitioner": "murmur2_random",  # as Java clients do, so that other tools agree on partitions
            "message.max.bytes": MAX_MESSAGE_BYTES,
            "queue.buffering.max.kbytes": 64 * 1024,
            "topic.metadata.propagation.max.ms": 10_000,
            "topic.metadata.refresh.interval.ms": 30_000,
            **CLIENT_CONFIG,
        }
        self._producer: Producer | None = None
        self._retired: list[Producer] = []
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._progress_s = time.monotonic()  # time of the last delivery; set by the poll thread only, after the start
        self._probed_s = 0.0

    async def start(self) -> None:
        """Start the delivery thread. Does not wait for a broker: the first `send` reports a missing one."""
        self._producer = Producer(self._config)
        self._thread = threading.Thread(target=self._serve_reports, name="kafka-delivery", daemon=True)
        self._thread.start()

    async def send(self, messages: Sequence[Message], *, limit_s: float | None = DEFAULT_LIMIT_S) -> None:
        """Return when all `messages` are acknowledged; messages of one partition arrive in the given order.

        At least once: after `Unavailable`, messages may have arrived, or may arrive later.

        Args:
            messages: any number of messages, of any topics.
            limit_s: timeout for the acknowledgements in seconds; None: no timeout.

        Raises:
            Unavailable: not acknowledged in time, refused by the broker (a missing topic), or the client was replaced;
                retry.
            InvalidArgument: a message is larger than Kafka accepts; nothing was sent.
        """
        if not messages:
            return
        for message in messages:
            check_size(message)
        if self._producer is None:
            raise Unavailable(KAFKA_UNAVAILABLE, "the Kafka producer is not running: start it before the first send")
        batch = _Batch(asyncio.get_running_loop(), self._producer, len(messages))
        try:
            async with asyncio.timeout(limit_s):
                await self._hand_over(messages, batch)
                await batch.settled
        except TimeoutError:
            raise Unavailable(
                KAFKA_UNAVAILABLE,
                f"Kafka at {self._bootstrap} did not acknowledge {len(messages)} messages to "
                f"{messages[0].topic} within {limit_s:g} s; they may still arrive",
            ) from None
        if batch.error is not None:
            self._retire_if_fatal(batch.producer, batch.error)
            raise Unavailable(
                KAFKA_UNAVAILABLE,
                f"Kafka at {self._bootstrap} refused messages to {batch.topic}: {batch.error.str()}",
            )

    async def close(self) -> None:
        """Stop; unacknowledged messages are dropped (their `send` still waits, or has failed). Idempotent."""
        if self._thread is None:
            return
        self._closing.set()
        await asyncio.to_thread(self._thread.join)
        self._thread = None
        if self._producer is not None:
            self._producer.purge()
            self._producer.poll(0)
        self._producer = None

    async def _hand_over(self, messages: Sequence[Message], batch: _Batch) -> None:
        for message in messages:
            if batch.producer is not self._producer:
                raise Unavailable(
                    KAFKA_UNAVAILABLE, f"the client of Kafka at {self._bootstrap} was replaced; try again"
                )
            while not self._produce(message, batch):  # noqa: ASYNC110 - librdkafka does not notify of room in its buffer
                await asyncio.sleep(_QUEUE_FULL_PAUSE_S)

    def _produce(self, message: Message, batch: _Batch) -> bool:
        arguments: dict[str, Any] = {} if message.partition is None else {"partition": message.partition}
        try:
            batch.producer.produce(
                message.topic,
                message.value,
                message.key,
                on_delivery=batch.report,
                headers=list(message.headers.items()),
                **arguments,
            )
        except BufferError:
            return False
        except KafkaException as error:
            self._retire_if_fatal(batch.producer, error.args[0])
            raise Unavailable(
                KAFKA_UNAVAILABLE, f"Kafka at {self._bootstrap}: {message.topic}: {error.args[0].str()}"
            ) from error
        return True

    def _retire_if_fatal(self, producer: Producer, error: KafkaError) -> None:
        # A fatal error (the broker lost our sequence) ends this librdkafka instance; the next send uses a new one.
        if error.fatal() and producer is self._producer:
            self._renew(producer, error.str())

    def _renew(self, producer: Producer, why: str) -> None:
        _log.warning("producer.client.replaced", client=self._config["client.id"], why=why)
        metrics.PRODUCERS_REPLACED.labels(self._config["client.id"]).inc()
        self._producer = Producer(self._config)
        self._retired.append(producer)
        producer.purge()  # its senders are notified through their delivery reports

    def _is_stalled(self) -> bool:
        now_s = time.monotonic()
        if now_s - self._progress_s < _STALLED_S or now_s - self._probed_s < _PROBE_EVERY_S:
            return False
        self._probed_s = now_s
        return are_brokers_reachable(self._bootstrap)

    def _serve_reports(self) -> None:
        while not self._closing.is_set():
            producer = self._producer
            if producer is not None:
                if producer.poll(_POLL_S) or not len(producer):
                    self._progress_s = time.monotonic()
                elif self._is_stalled():
                    self._renew(producer, f"nothing delivered for {_STALLED_S:g} s, although the brokers respond")
                    self._progress_s = time.monotonic()
            for retired in list(self._retired):
                retired.purge()  # messages that were passed to it during its replacement
                retired.poll(0)
                if len(retired) == 0:
                    self._retired.remove(retired)


def check_size(message: Message) -> None:
    """Refuse a message that is larger than Kafka accepts.

    Raises:
        InvalidArgument: it is too large; the message names topic, size and limit.
    """
    if message.size_bytes > MAX_MESSAGE_BYTES:
        raise InvalidArgument(
            "MESSAGE_TOO_LARGE",
            f"a message to {message.topic} has {message.size_bytes} bytes, the limit is {MAX_MESSAGE_BYTES}; split it "
            f"before sending",
        )
