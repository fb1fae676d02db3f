"""One trace from the first caller to the last service, in spans, files and logs.

Tracing is set once per process, so each test has a separate process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

PROGRAM = """
    import asyncio, sys, tempfile
    from pathlib import Path

    import structlog
    from classifeed.offers.v1 import offer_pb2, offer_service_pb2
    from classifeed.offers.v1.offer_service_pb2_grpc import (
        OfferServiceServicer, OfferServiceStub, add_OfferServiceServicer_to_server,
    )
    from classifeed_common.telemetry.logging import configure_logging
    from classifeed_common.rpc.client import open_channel
    from classifeed_common.rpc.server import Servicer, build_server
    from classifeed_common.telemetry.tracing import configure_tracing
    from classifeed_devkit.testing.rpc import settings_for
    from classifeed_domain.policy import POLICY

    configure_logging("offers")
    provider = configure_tracing("offers", file=Path(sys.argv[1]))
    log = structlog.get_logger("test")

    class Offers(OfferServiceServicer):
        def __init__(self, behind=None):
            self.behind = behind

        async def GetOffer(self, request, context):
            log.info("asked")
            if self.behind is not None:
                return await self.behind.GetOffer(request)
            password = "hunter2"
            raise RuntimeError("no")

    async def serve(target, behind=None):
        server = build_server(settings_for("offers"), POLICY)
        Servicer.of(add_OfferServiceServicer_to_server, Offers(behind)).add(server)
        server.add_insecure_port(target)
        await server.start()
        return server

    async def main(folder):
        inner = open_channel(f"unix:{folder}/b", caller="api", audience="offers", keys=None)
        outer = open_channel(f"unix:{folder}/a", caller="operator", audience="offers", keys=None)
        servers = [await serve(f"unix:{folder}/b"), await serve(f"unix:{folder}/a", OfferServiceStub(inner))]
        request = offer_service_pb2.GetOfferRequest(name="sellers/s/feeds/default/offers/1")
        try:
            await OfferServiceStub(outer).GetOffer(request)
        except Exception as error:
            log.info("refused", code=error.code().name)
        for closing in (inner.close(), outer.close(), *(server.stop(0) for server in servers)):
            await closing

    with tempfile.TemporaryDirectory(prefix="cf-") as folder:
        asyncio.run(main(folder))
    provider.shutdown()
"""


def run(tmp_path: Path) -> tuple[list[dict[str, object]], list[dict[str, object]], str]:
    spans = tmp_path / "spans.jsonl"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PROGRAM), str(spans)],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return [json.loads(line) for line in spans.read_text().splitlines()], events, done.stderr


def test_one_trace_goes_through_every_service_and_into_the_logs(tmp_path: Path) -> None:
    spans, events, raw = run(tmp_path)
    assert len(spans) == 4
    ids = {span["context"]["trace_id"].removeprefix("0x") for span in spans}  # type: ignore[index]
    by_id = {span["context"]["span_id"]: span for span in spans}  # type: ignore[index]
    depths = []
    for span in spans:
        depth, parent = 0, span["parent_id"]
        while parent is not None:
            depth, parent = depth + 1, by_id[parent]["parent_id"]
        depths.append((depth, span["kind"]))
    assert sorted(depths) == [
        (0, "SpanKind.CLIENT"),
        (1, "SpanKind.SERVER"),
        (2, "SpanKind.CLIENT"),
        (3, "SpanKind.SERVER"),
    ]
    called = [event for event in events if event["event"] == "asked"]
    assert len(called) == 2
    assert {event["trace_id"] for event in called} == ids
    assert len({event["request_id"] for event in called}) == 1
    failed = next(event for event in events if event["event"] == "rpc.call.failed")
    assert "RuntimeError: no" in str(failed["exception"])
    assert "hunter2" not in raw.replace('password = "hunter2"', "")
