"""The largest request of each RPC and HTTP route of the api does not block the event loop."""

from __future__ import annotations

from google.protobuf.field_mask_pb2 import FieldMask

from classifeed.feeds.v1.feed_service_pb2 import UploadFeedRequest, UploadSpec
from classifeed_common.auth import KeyStore
from classifeed_devkit.testing.measuring.event_loop import hold_of_call, holds_of_routes, holds_of_rpcs, too_long
from classifeed_domain.policy import POLICY

from .conftest import Api

SERVICES = ("classifeed.feeds.v1.FeedService", "classifeed.jobs.v1.JobService")


async def test_no_request_holds_the_event_loop(api: Api, keys: KeyStore) -> None:
    found = await holds_of_rpcs(
        api.target,
        SERVICES,
        POLICY,
        texts={"letters": lambda chars: "a" * chars, "escapes": lambda chars: ("%zz" * chars)[:chars]},
        values={"update_mask": FieldMask(paths=["settings"]), "url": "https://shop.example/feed.yml"},
        token=lambda: keys.issue("operator", "api"),
    )
    pieces = [UploadFeedRequest(spec=UploadSpec(seller_id="s", file_name="a.csv"))]
    pieces += [UploadFeedRequest(chunk=bytes(1 << 20))] * 4
    path = f"/{SERVICES[0]}/UploadFeed"
    sent = [piece.SerializeToString() for piece in pieces]
    found[path] = await hold_of_call(api.target, path, sent, keys.issue("operator", "api"), streams=True)
    assert {code for _, code in found.values()} >= {"OK", "INVALID_ARGUMENT"}
    routes = await holds_of_routes(
        api.runner.http_address, api.runner.http_app(api.runner.role_names), size_bytes=1 << 20
    )
    assert routes["GET /metrics (no body)"][1] == 200
    assert too_long({**found, **routes}) == {}
