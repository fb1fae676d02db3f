"""The units of a plan: embedded servers and service processes, under supervision."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable

from classifeed_cli.platform.planning.credentials import BUCKET
from classifeed_cli.platform.planning.plan import Plan
from classifeed_cli.platform.planning.service_table import ServiceSpec
from classifeed_cli.platform.probing.probe import is_ready
from classifeed_cli.platform.supervision.supervised import Supervised
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.postgres import EmbeddedPostgres
from classifeed_devkit.embedded.process import spawn_bound
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.embedded.server import EmbeddedServer

# A service drains for CLASSIFEED_<SERVICE>_DRAIN_GRACE_S after its notice (10; for the loader 45, as its jobs get 30 s
# to complete). A longer drain is an error.
_SERVICE_STOP_S = 60.0


def embedded_servers(plan: Plan) -> list[EmbeddedServer]:
    """Return the servers of the plan, not started."""
    layout = plan.layout
    servers: list[EmbeddedServer] = []
    if "postgres" in plan.parts:
        servers.append(
            EmbeddedPostgres(
                layout.part("postgres"),
                plan.ports["postgres"],
                password=plan.credentials.superuser,
                log=layout.log("postgres"),
            )
        )
    if "kafka" in plan.parts:
        servers.append(
            EmbeddedKafka(
                layout.part("kafka"),
                plan.ports["kafka"],
                controller_port=plan.ports["kafka.controller"],
                log=layout.log("kafka"),
                max_heap_mb=int(os.environ.get("CLASSIFEED_KAFKA_HEAP_MB", "256")),
            )
        )
    if "s3" in plan.parts:
        servers.append(
            EmbeddedS3(
                layout.part("s3"),
                plan.ports["s3"],
                access_key=plan.credentials.s3_access_key,
                secret_key=plan.credentials.s3_secret_key,
                log=layout.log("s3"),
            )
        )
    return servers


def prepare_server(server: EmbeddedServer) -> None:
    """Prepare a server's data folder. Blocks; raises ServerError."""
    server.prepare()
    if isinstance(server, EmbeddedS3):
        server.make_bucket(BUCKET)


def supervise_server(server: EmbeddedServer, on_change: Callable[[], None]) -> Supervised:
    """Return an embedded server under supervision."""

    def spawn() -> subprocess.Popen[bytes]:
        server.spawn()
        assert server.process is not None
        return server.process

    return Supervised(
        server.name,
        spawn=spawn,
        probe=lambda: asyncio.to_thread(server.is_ready),
        log=server.log,
        stop_signal=server.stop_signal,
        stop_timeout_s=30.0,
        on_change=on_change,
    )


def supervise_service(plan: Plan, spec: ServiceSpec, on_change: Callable[[], None]) -> Supervised:
    """Return a service under supervision: `python -m <package>`, all its roles in one process."""
    log = plan.layout.log(spec.name)
    environment = plan.environment(spec)
    return Supervised(
        spec.name,
        spawn=lambda: spawn_bound([sys.executable, "-m", spec.package], log=log, env=environment),
        probe=lambda: is_ready(plan.address(f"{spec.name}.http")),
        log=log,
        stop_timeout_s=_SERVICE_STOP_S,
        on_change=on_change,
    )
