"""Commands of pictures: their requests, output and waits."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.feeds.v1 import feed_service_pb2
from classifeed.offers.v1 import offer_service_pb2
from classifeed.pictures.v1 import picture_pb2, picture_service_pb2
from classifeed_cli.exit_codes import ExitCode

URL = "https://shop.example/1.jpg"
GONE = "https://shop.example/gone.jpg"
ADDRESS = "/get/offers/17/0f3c9a1be2d84c7795d6a2f41b0c8e37"
PICTURE = {
    "namespace": "offers", "group_id": 17, "name": ADDRESS.rpartition("/")[2], "width": 1200, "height": 900,
    "format": "png", "size_bytes": "280000", "store_time": "2026-11-20T09:00:00Z",
    "sizes": [{"name": "card", "width": 320, "height": 240, "formats": ["jpeg", "webp"]}],
}  # fmt: skip
STORED = {"url": URL, "known": True, "pictures": [PICTURE], "attempt": "5"}
FAILED = {
    "url": GONE, "known": True, "attempt": "6", "attempt_time": "2026-11-20T09:00:00Z", "failed_attempts": 2,
    "last_failure": {"code": "HTTP_NOT_FOUND", "message": "The host has no such file.", "http_status": 404},
    "next_attempt_time": "2026-11-21T09:00:00Z", "request_time": "2026-11-20T08:59:00Z", "requests_in_flight": 3,
}  # fmt: skip
UNDER_WAY = {"url": GONE, "known": True, "attempt": "7", "request_time": "2026-11-20T10:00:00Z"}
UNKNOWN = {"url": GONE}
NAMESPACES = {
    "namespaces": [
        {
            "name": "offers", "formats": ["jpeg", "webp"], "pictures": "1200", "used_bytes": "90000000",
            "sizes": [{"name": "card", "width": 320, "height": 320}, {"name": "wide", "width": 900, "height": 300,
                                                                       "crop": True}],
        },
        {"name": "shops", "formats": ["jpeg"], "quota_bytes": str(1 << 30)},
    ]
}  # fmt: skip


def states(*documents: dict[str, Any]) -> picture_pb2.PictureStateBatch:
    return ParseDict({"states": list(documents)}, picture_pb2.PictureStateBatch())


@pytest.fixture
def pictures(api: Any) -> Any:
    api.respond("ListNamespaces", ParseDict(NAMESPACES, picture_service_pb2.ListNamespacesResponse()))
    api.respond("RequestPictures", picture_service_pb2.RequestPicturesResponse())
    api.respond("LookAgain", picture_service_pb2.LookAgainResponse())
    api.respond("DeletePictures", picture_service_pb2.DeletePicturesResponse())
    return api


def test_state_prints_who_keeps_it_and_why_it_could_not_be_had(pictures: Any, terminal: Any, snapshot: Any) -> None:
    put = {**STORED, "put": True, "delete_mark_time": "2026-11-20T10:00:00Z"}
    never = {**FAILED, "next_attempt_time": None, "url": URL}
    pictures.respond("BatchGetStates", states(STORED, put, FAILED, never, UNDER_WAY, UNKNOWN))
    ended = terminal("picture", "state", URL, URL, GONE, URL, GONE, GONE)
    snapshot("picture-state", ended)
    assert ended.exit_code == ExitCode.REFUSED, "one is unknown"
    pictures.respond("BatchGetStates", states(FAILED))
    ended = terminal("picture", "state", GONE, "--json")
    assert ended.exit_code == ExitCode.DONE
    assert ended.document["states"][0]["last_failure"]["code"] == "HTTP_NOT_FOUND"


def test_request_waits_only_with_the_option(pictures: Any, terminal: Any) -> None:
    pictures.respond("BatchGetStates", states(UNKNOWN))
    assert terminal("picture", "request", GONE, "--json").document == {"requested": 1, "namespace": "offers"}
    terminal("picture", "request", GONE, "--namespace", "shops")
    assert [request.namespace for request in pictures.requests["RequestPictures"]] == ["offers", "shops"]


def test_request_waits_until_each_is_stored_or_has_failed(pictures: Any, terminal: Any, snapshot: Any) -> None:
    """An old failure is not the result while a new attempt is under way."""
    old, again = {**FAILED, "failed_attempts": 1}, {**FAILED, "attempt": "7", "failed_attempts": 1}
    pictures.respond(
        "BatchGetStates",
        states(UNKNOWN, old), states(UNDER_WAY, old), states(STORED, again),
        states(STORED, {**again, "failed_attempts": 2}),
    )  # fmt: skip
    ended = terminal("picture", "request", URL, GONE, "--wait")
    snapshot("picture-request", ended)
    assert ended.exit_code == ExitCode.REFUSED
    assert len(pictures.requests["BatchGetStates"]) == 4
    pictures.respond("BatchGetStates", states(STORED))
    assert terminal("picture", "request", URL, "--wait").exit_code == ExitCode.DONE


def test_a_failure_that_is_not_due_again_is_the_result(pictures: Any, terminal: Any) -> None:
    later = {**FAILED, "request_time": "2026-11-20T09:30:00Z"}
    pictures.respond("BatchGetStates", states(FAILED), states(FAILED), states(later))
    assert terminal("picture", "request", GONE, "--wait").exit_code == ExitCode.REFUSED
    assert len(pictures.requests["BatchGetStates"]) == 3


def test_the_wait_has_a_limit_and_survives_a_restart(pictures: Any, terminal: Any, refusal: Any, snapshot: Any) -> None:
    away = refusal("UNAVAILABLE", "STARTING", "The service is starting.")
    pictures.respond("BatchGetStates", states(UNKNOWN), away, states(UNDER_WAY))
    ended = terminal("picture", "request", GONE, "--wait", "--timeout", "1")
    snapshot("picture-request-timeout", ended)
    assert ended.exit_code == ExitCode.TIME_OUT


def test_request_names_the_namespaces_there_are(pictures: Any, terminal: Any, snapshot: Any) -> None:
    snapshot("picture-request-namespace", terminal("picture", "request", URL, "--namespace", "cards"))
    assert "RequestPictures" not in pictures.requests
    for wrong in ("", "Cards", "c" * 33):
        assert terminal("picture", "request", URL, "--namespace", wrong).exit_code == ExitCode.USAGE


def test_put_sends_the_file_and_prints_where_it_is(api: Any, terminal: Any, snapshot: Any, tmp_path: Path) -> None:
    file = tmp_path / "1.png"
    file.write_bytes(b"picture")
    api.respond("PutPicture", ParseDict(PICTURE, picture_pb2.PictureInfo()))
    ended = terminal("picture", "put", str(file), "--key", URL)
    assert ended.exit_code == ExitCode.DONE
    assert f"  address     {ADDRESS}\n" in ended.out
    [[request]] = api.requests["PutPicture"]
    assert (request.url, request.namespace, request.data) == (URL, "offers", b"picture")
    assert terminal("picture", "put", str(file), "--key", URL, "--json").document["address"] == ADDRESS
    assert terminal("picture", "put", str(file), "--key", "").exit_code == ExitCode.USAGE


class Host(BaseHTTPRequestHandler):
    """Responds as the pictures service does, and records the requests."""

    requests: list[tuple[str, str]]

    def do_GET(self) -> None:
        self.requests.append((self.path, self.headers.get("Accept", "")))
        status, kind, body = 200, "image/webp", b"bytes"
        if self.path.endswith("/none"):
            status, kind = 404, "application/problem+json"
            body = b'{"reason": "PICTURE_SIZE_UNKNOWN", "detail": "The picture has no size \'none\'."}'
        elif self.path.endswith("/odd"):
            status, kind, body = 502, "text/html", b"<html>"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
        """Print nothing."""


@pytest.fixture
def host(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    requests: list[tuple[str, str]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Host,), {"requests": requests}))
    thread = Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("CLASSIFEED_PICTURES_URL", f"http://127.0.0.1:{server.server_address[1]}/cdn/")
    yield requests
    server.shutdown()
    thread.join()
    server.server_close()


def test_get_writes_the_bytes(
    api: Any, terminal: Any, host: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    api.respond("GetState", ParseDict(STORED, picture_pb2.PictureState()))
    assert terminal("picture", "get", URL, "--size", "card", "--format", "webp").exit_code == ExitCode.DONE
    assert terminal("picture", "get", f"{ADDRESS}/card", "-o", "card.webp").exit_code == ExitCode.DONE
    document = terminal("picture", "get", ADDRESS, "--json").document
    assert host == [(f"/cdn{ADDRESS}/card", "image/webp"), (f"/cdn{ADDRESS}/card", ""), (f"/cdn{ADDRESS}/orig", "")]
    name = ADDRESS.rpartition("/")[2]
    assert document == {
        "file": f"{name}-orig.webp", "address": f"{ADDRESS}/orig", "media_type": "image/webp", "size_bytes": "5",
    }  # fmt: skip
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}-card.webp", "card.webp", f"{name}-orig.webp"}
    assert {file.read_bytes() for file in tmp_path.iterdir()} == {b"bytes"}


def test_get_says_why_there_are_no_bytes(
    api: Any, terminal: Any, host: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    api.respond("GetState", ParseDict(STORED, picture_pb2.PictureState()))
    for arguments, reason, code in (
        ((URL, "--namespace", "shops"), "PICTURE_NOT_STORED", ExitCode.REFUSED),
        ((f"{ADDRESS}/none",), "PICTURE_SIZE_UNKNOWN", ExitCode.REFUSED),
        ((f"{ADDRESS}/odd",), "PICTURES_UNREACHABLE", ExitCode.UNAVAILABLE),
        ((ADDRESS, "-o", "no/such/folder"), "FILE_NOT_WRITTEN", ExitCode.REFUSED),
    ):
        ended = terminal("picture", "get", *arguments, "--json")
        assert (ended.document["error"]["reason"], ended.exit_code) == (reason, code)
    assert list(tmp_path.iterdir()) == []
    assert terminal("picture", "get", ADDRESS, "-o", "-", "--json").exit_code == ExitCode.USAGE
    monkeypatch.setenv("CLASSIFEED_PICTURES_URL", "http://127.0.0.1:1")
    ended = terminal("picture", "get", ADDRESS, "--json")
    assert (ended.document["error"]["reason"], ended.exit_code) == ("PICTURES_UNREACHABLE", ExitCode.UNAVAILABLE)
    monkeypatch.delenv("CLASSIFEED_PICTURES_URL")
    assert terminal("picture", "get", ADDRESS, "--json").document["error"]["reason"] == "NOT_CONFIGURED"


def test_look_again_and_delete_name_urls(pictures: Any, terminal: Any) -> None:
    assert terminal("picture", "look-again", URL, GONE).exit_code == ExitCode.DONE
    assert list(pictures.requests["LookAgain"][0].urls) == [URL, GONE]
    assert terminal("picture", "delete", URL, "--json").document == {"urls": 1, "namespace": ""}
    terminal("picture", "delete", URL, GONE, "--namespace", "shops", "--yes")
    sent = [(list(request.urls), request.namespace) for request in pictures.requests["DeletePictures"]]
    assert sent == [([URL], ""), ([URL, GONE], "shops")]
    too_many = [f"u{number}" for number in range(1001)]
    for wrong in (("delete", ""), ("look-again", *too_many), ("state",)):
        assert terminal("picture", *wrong).exit_code == ExitCode.USAGE


def alike(*found: tuple[int, str], token: str = "") -> picture_service_pb2.ListSimilarResponse:
    pictures = [{"url": url, "distance": distance, "picture": PICTURE} for distance, url in found]
    return ParseDict({"pictures": pictures, "next_page_token": token}, picture_service_pb2.ListSimilarResponse())


def test_similar_pictures_are_listed_the_most_similar_first(api: Any, terminal: Any, snapshot: Any) -> None:
    long = f"https://shop.example/{'very-' * 20}long.jpg"
    api.respond("ListSimilar", alike((0, GONE), (7, long), (9, ""), token="next"))
    snapshot("picture-similar", terminal("picture", "similar", URL, "--limit", "2", "--namespace", "offers"))
    [request] = api.requests["ListSimilar"]
    assert (request.url, request.namespace, request.max_distance, request.page_size) == (URL, "offers", 10, 3)
    api.respond("ListSimilar", alike((0, GONE), (7, long), (9, "")))
    document = terminal("picture", "similar", URL, "--json", "--distance", "0").document
    assert [each["address"] for each in document["pictures"]] == [ADDRESS] * 3
    assert api.requests["ListSimilar"][-1].HasField("max_distance")
    api.respond("ListSimilar", alike())
    assert "no other stored picture looks like" in terminal("picture", "similar", URL).out
    assert terminal("picture", "similar", URL, "--distance", "12").exit_code == ExitCode.USAGE


def test_similar_pictures_of_a_seller_are_sought_by_the_links_of_its_offers(api: Any, terminal: Any) -> None:
    offers = [{"name": str(n), "content": {"picture_urls": [f"u{n}", "same"]}} for n in range(1200)]
    api.respond(
        "ListFeeds", ParseDict({"feeds": [{"name": "sellers/a/feeds/b"}]}, feed_service_pb2.ListFeedsResponse())
    )
    api.respond("ListOffers", ParseDict({"offers": offers}, offer_service_pb2.ListOffersResponse()))
    api.respond("ListSimilar", alike((3, "u3"), (5, "u5")), alike((0, "u1001"), (4, "u1004")))
    document = terminal("picture", "similar", URL, "--seller", "a", "--limit", "3", "--json").document
    assert [each["url"] for each in document["pictures"]] == ["u1001", "u3", "u1004"]
    assert document["has_more"]
    assert [len(request.urls) for request in api.requests["ListSimilar"]] == [1000, 201]
    assert [request.parent for request in api.requests["ListFeeds"]] == ["sellers/a"]


def test_namespaces_are_listed_with_what_they_keep(pictures: Any, terminal: Any, snapshot: Any) -> None:
    snapshot("picture-namespaces", terminal("picture", "namespaces"))
    assert len(terminal("picture", "namespaces", "--json").document["namespaces"]) == 2


def test_a_namespace_changes_what_is_given_alone(pictures: Any, terminal: Any, snapshot: Any) -> None:
    pictures.respond("PutNamespace", lambda request: request.namespace)
    sizes = ("--size", "card:320x320:crop", "--size", "large:1024x1024")
    snapshot("picture-namespace", terminal("picture", "namespace", "cards", *sizes, "--format", "webp"))
    terminal("picture", "namespace", "shops", "--quota-mb", "5")
    terminal("picture", "namespace", "offers", "--format", "avif", "--format", "jpeg")
    made, shops, offers = (request.namespace for request in pictures.requests["PutNamespace"])
    assert [(size.name, size.width, size.crop) for size in made.sizes] == [("card", 320, True), ("large", 1024, False)]
    assert (list(made.formats), made.quota_bytes) == (["webp"], 0)
    assert (list(shops.formats), shops.quota_bytes) == (["jpeg"], 5 << 20)
    assert (list(offers.formats), [size.name for size in offers.sizes]) == (["avif", "jpeg"], ["card", "wide"])
    for wrong in ("card", "card:320", "card:ax3", "Card:3x3", "card:3x3:fill"):
        assert terminal("picture", "namespace", "cards", "--size", wrong).exit_code == ExitCode.USAGE


def test_pictures_of_offers_are_requested_again(api: Any, terminal: Any) -> None:
    api.respond("RequestPictures", offer_service_pb2.RequestPicturesResponse(job_id="j-1"))
    assert terminal("picture", "request-again", "--json").document == {"job_id": "j-1"}
    assert "offers.request-pictures" in terminal("picture", "request-again", "--seller", "s", "--namespace", "n").out
    requests = api.requests["RequestPictures"]
    assert [request.parent for request in requests] == ["", "sellers/s/feeds/n"]
    assert len({request.request_id for request in requests}) == 2
    assert terminal("picture", "request-again", "--namespace", "n").exit_code == ExitCode.USAGE
    api.respond("RequestPictures", offer_service_pb2.RequestPicturesResponse())
    assert "request no pictures" in terminal("picture", "request-again").out
