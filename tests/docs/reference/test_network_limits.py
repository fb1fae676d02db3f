"""The page of network limits has the values of the code."""

from __future__ import annotations

import inspect
import re

import pytest
from psycopg.conninfo import conninfo_to_dict

from classifeed_cleanweb.clients import receivers
from classifeed_client import connection as public_client
from classifeed_common.blobs import http_client
from classifeed_common.db import Database, conninfo, probe, watch
from classifeed_common.db.migrations import run as migrations
from classifeed_common.db.pool import _LONGEST_PAUSE_S
from classifeed_common.host_limits import HostPolicy
from classifeed_common.http import backlog
from classifeed_common.http.api import bodies
from classifeed_common.http.connection import ConnectionLimits
from classifeed_common.kafka import OrderedConsumer
from classifeed_common.kafka.topics import cluster
from classifeed_common.rpc import client, idle_readers, keepalive
from classifeed_common.runner import readiness
from classifeed_common.settings import ServiceSettings
from classifeed_common.telemetry.tracing import Tracing
from classifeed_jobs.worker import listener
from classifeed_loader import parts as loader_parts
from classifeed_moderation.clients import configured, verdict_service
from classifeed_moderation.settings import ModerationSettings
from tests.docs.pages import REFERENCE

PAGE = (REFERENCE / "network-limits.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| (.+?) \| (.+) \|$", PAGE, re.MULTILINE))


def default_of(function: object, name: str) -> float:
    return float(inspect.signature(function).parameters[name].default)  # type: ignore[arg-type]


_TCP = conninfo_to_dict(conninfo.bounded_dsn("host=localhost"))
_SECONDS: dict[str, list[float]] = {
    "a connection": [float(str(_TCP["connect_timeout"])), _LONGEST_PAUSE_S],
    "the reader of a file of issues that takes no piece of it": [idle_readers.SILENCE_S],
    "a pooled connection that is free": [default_of(Database, "acquire_timeout_s")],
    "a response that was lost": [watch.PROBE_TICKS * watch.TICK_S, watch._GRACE_S],
    "the same, on a connection older than another one that was found dead": [
        watch.SUSPECT_TICKS * watch.TICK_S,
        watch._GRACE_S,
    ],
    "a response while the server says nothing at all": [default_of(Database, "unanswered_s")],
    "a response behind a pooler, or without a pool of ours": [
        float(ServiceSettings.model_fields["db_unanswered_s"].default)
    ],
    "a probe of a silent session": [probe.LIMIT_S, watch.PROBE_TICKS * watch.TICK_S],
    "a notification": [listener._CHECK_EVERY_S],
    "a response to a migration": [
        migrations._RESPONSE_LIMIT_S,
        migrations._RESPONSE_LIMIT_S - migrations.STATEMENT_TIMEOUT_S,
    ],
    "data to be acknowledged or taken by the peer's TCP": [float(str(_TCP["tcp_user_timeout"])) / 1000],
    "a connection, or that the kernel takes a part of 5 MiB": [http_client.CONNECT_S],
    "the first byte of a response, the next piece of one": [http_client.SILENCE_S],
    "the end of a multipart upload": [http_client.COMPLETE_S],
    "a unary call": [client.DEFAULT_TIMEOUT_S],
    "a message of a stream, at either end": [
        keepalive.PING_EVERY_S + keepalive.PING_LIMIT_S,
        keepalive.PING_EVERY_S,
        keepalive.PING_LIMIT_S,
    ],
    "a connection of a channel": [
        client._LONGEST_PAUSE_MS / 1000,
        dict(public_client.OPTIONS)["grpc.min_reconnect_backoff_ms"] / 1000,
    ],
    "the body of a request of an HTTP API": [bodies.BODY_LIMIT_S],
    "the head of a request": [ConnectionLimits().head_s],
    "a client to take a piece of a response that is ready (64 KB)": [ConnectionLimits().write_s],
    "the rest of a body that the service does not read": [ConnectionLimits().discard_s],
    "a permit for a host": [HostPolicy().max_wait_s, loader_parts._LONGEST_WAIT_FOR_A_PERMIT_S],
    "a connection to the verdict service": [configured.CONNECT_S],
    "a response of the verdict service": [
        float(ModerationSettings.model_fields["answer_s"].default),
        verdict_service._OVERHEAD_S,
    ],
    "the receiver of a callback of cleanweb": [
        receivers._LIMIT_S,
        receivers._TIMEOUTS["connect"],
        receivers._TIMEOUTS["read"],
    ],
    "a readiness check": [readiness.CHECK_TIMEOUT_S, readiness._ABANDON_S],
    "the count of a backlog": [backlog.BACKLOG_TIMEOUT_S],
    "the response of a broker": [cluster._REQUEST_LIMIT_S],
    "the same, at the end of a process": [default_of(Tracing.shutdown, "limit_s")],
    "a heartbeat of a member": [default_of(OrderedConsumer, "session_timeout_s")],
}


@pytest.mark.parametrize("what", _SECONDS)
def test_figures_are_those_of_the_code(what: str) -> None:
    assert [float(figure) for figure in re.findall(r"\b(\d+(?:\.\d+)?) s\b", ROWS[what])] == _SECONDS[what]
