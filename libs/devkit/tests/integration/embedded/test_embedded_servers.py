from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from minio import Minio

from classifeed_common.processes import ProcessIdentity
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.kafka_jars import kafka_class_path
from classifeed_devkit.embedded.ports import RANGE_VARIABLE, pick_free_port, range_of_part
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.embedded.process import ServerError
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.servers import server_folder


def test_postgres_answers_with_utf8_and_a_password(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.dsn) as connection:
        row = connection.execute("SELECT lower('ШИНЫ'), current_setting('max_connections')::int").fetchone()
    assert row == ("шины", 200)
    wrong = postgres.dsn_of("postgres", password="wrong")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong)


@pytest.mark.parametrize("is_fast", [False, True])
def test_postgres_keeps_committed_rows_over_sigkill_and_stop(*, is_fast: bool) -> None:
    rows = 100
    with server_folder("pg") as folder:
        server = EmbeddedPostgres(folder / "data", password="p", fast=is_fast).start()
        try:
            port = server.port
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                connection.execute("CREATE TABLE t (n int)")
                for _ in range(rows):
                    connection.execute("INSERT INTO t VALUES (1)")
                server.kill()
            server.start()
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                connection.execute("INSERT INTO t VALUES (2)")
            server.restart()
            with psycopg.connect(server.dsn) as connection:
                assert connection.execute("SELECT count(*) FROM t").fetchone() == (rows + 1,)
            assert server.port == port
        finally:
            server.stop()
        assert server.pid is None


def test_a_used_port_is_said_in_one_line(postgres: EmbeddedPostgres) -> None:
    with server_folder("pg") as folder:
        second = EmbeddedPostgres(folder / "data", postgres.port, password="p", fast=True)
        with pytest.raises(ServerError, match=f"port {postgres.port} is in use") as error:
            second.start()
        assert "\n" not in str(error.value)


def test_another_password_for_the_same_data_is_explained() -> None:
    with server_folder("pg") as folder:
        EmbeddedPostgres(folder / "data", password="one", fast=True).start().stop()
        second = EmbeddedPostgres(folder / "data", password="two", fast=True)
        try:
            with pytest.raises(ServerError, match="keys folder was replaced"):
                second.start()
        finally:
            second.stop()


def _produce(bootstrap: str, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(120) == 0


def _read(bootstrap: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"g-{topic}", "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([topic])
    values: list[bytes] = []
    deadline = time.monotonic() + 120
    try:
        while len(values) < count and time.monotonic() < deadline:
            values += [message.value() or b"" for message in consumer.consume(100, 0.2) if not message.error()]
    finally:
        consumer.close()
    return values


@pytest.mark.kafka
@pytest.mark.slow
def test_kafka_keeps_acknowledged_messages_over_sigkill(kafka: EmbeddedKafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    next(iter(admin.create_topics([NewTopic("embedded.kill", 3, 1)]).values())).result(120)
    _produce(kafka.bootstrap, "embedded.kill", [b"%d" % n for n in range(1000)])
    port = kafka.port
    kafka.kill()
    kafka.start(300)
    assert kafka.port == port
    assert b"-Duser.timezone=UTC" in Path(f"/proc/{kafka.pid}/cmdline").read_bytes().split(b"\0"), "its log"
    _produce(kafka.bootstrap, "embedded.kill", [b"after"])
    assert sorted(_read(kafka.bootstrap, "embedded.kill", 1001)) == sorted(
        [b"%d" % n for n in range(1000)] + [b"after"]
    )


@pytest.mark.kafka
def test_kafka_makes_no_topics_by_itself(kafka: EmbeddedKafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    listed = admin.list_topics("embedded.undeclared", timeout=60)
    assert listed.topics["embedded.undeclared"].error is not None


def test_s3_stores_lists_and_refuses_strangers(s3: EmbeddedS3) -> None:
    host = s3.address
    client = Minio(host, access_key=s3.access_key, secret_key=s3.secret_key, secure=False)
    client.make_bucket("embedded")
    body = os.urandom(6 * 1024 * 1024)
    client.put_object("embedded", "a/b", io.BytesIO(body), -1, part_size=5 * 1024 * 1024)
    response = client.get_object("embedded", "a/b")
    assert response.read() == body
    response.close()
    assert [item.object_name for item in client.list_objects("embedded", recursive=True)] == ["a/b"]
    assert b"TZ=UTC" in Path(f"/proc/{s3.pid}/environ").read_bytes().split(b"\0"), "its log"
    stranger = Minio(host, access_key=s3.access_key, secret_key="wrong", secure=False)
    with pytest.raises(Exception, match=r"(?i)signature|access|denied"):
        stranger.stat_object("embedded", "a/b") and stranger.get_object("embedded", "a/b")


def test_s3_serves_the_same_objects_after_sigkill_without_leftovers() -> None:
    with server_folder("s3") as folder:
        server = EmbeddedS3(folder / "data", access_key="access", secret_key="secret-key").start()
        try:
            server.make_bucket("files")
            client = Minio(server.address, access_key="access", secret_key="secret-key", secure=False)
            client.put_object("files", "x", io.BytesIO(b"kept"), 4)
            server.kill()
            (folder / "data" / "files" / ".rclone_temp_put_1").write_bytes(b"cut off")
            server.start()
            response = client.get_object("files", "x")
            assert response.read() == b"kept"
            response.close()
            assert not list((folder / "data").rglob(".rclone_temp_*"))
        finally:
            server.stop()


_PARENT = """
import sys, time
from pathlib import Path
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.embedded.s3 import EmbeddedS3
folder = Path(sys.argv[1])
pg = EmbeddedPostgres(folder / "pg", password="p", fast=True).start()
s3 = EmbeddedS3(folder / "s3", access_key="access", secret_key="secret-key").start()
print(pg.pid, s3.pid, flush=True)
time.sleep(600)
"""


def test_servers_die_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    with server_folder("bound") as folder:
        command = [sys.executable, "-c", _PARENT, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            pids = [int(pid) for pid in parent.stdout.readline().split()]
            servers = [ProcessIdentity.of(pid) for pid in pids]
            assert len(servers) == 2
            assert all(servers)
            parent.send_signal(signal.SIGKILL)
        for server in servers:
            assert server is not None
            assert server.wait_gone(60)


def test_picked_ports_are_free_and_below_the_ephemeral_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RANGE_VARIABLE, raising=False)
    taken = {pick_free_port() for _ in range(20)}
    assert all(15000 <= port <= 32000 for port in taken)
    assert pick_free_port(taken) not in taken


def test_parts_of_the_ports_keep_processes_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    picked: list[set[int]] = []
    for part in range(3):
        monkeypatch.setenv(RANGE_VARIABLE, range_of_part(part, 3))
        picked.append({pick_free_port() for _ in range(200)})
    assert max(picked[0]) < min(picked[1]) <= max(picked[1]) < min(picked[2])
    monkeypatch.setenv(RANGE_VARIABLE, "all")
    with pytest.raises(ValueError, match="write it as first-last"):
        pick_free_port()


def test_kafka_starts_from_its_classes(kafka: EmbeddedKafka) -> None:
    assert "/classes-" in Path(f"/proc/{kafka.pid}/maps").read_text()


@pytest.mark.slow
@in_campaigns
def test_kafka_makes_its_classes_and_starts_without_them_when_they_are_damaged(tmp_path: Path) -> None:
    for jar in kafka_class_path():
        (tmp_path / jar.name).symlink_to(jar)
    with server_folder("kafka") as folder:
        server = EmbeddedKafka(folder / "data", jars=tmp_path)
        try:
            server.start()
            [classes] = tmp_path.glob("classes-*.aot")
            assert str(classes) in Path(f"/proc/{server.pid}/maps").read_text()
            server.stop()
            classes.write_bytes(classes.read_bytes()[:1_000_000])
            server.start()
            assert str(classes) not in Path(f"/proc/{server.pid}/maps").read_text()
        finally:
            server.stop()
        assert "The AOT cache has been truncated" in server.log.read_text()
