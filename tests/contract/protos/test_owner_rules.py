"""For every RPC, unary and streaming, over real gRPC: a token limited to some sellers reaches only their data."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio
import jwt
import protovalidate
import pytest
import pytest_asyncio
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from classifeed.feeds.v1.feed_pb2 import Feed
from classifeed.feeds.v1.feed_service_pb2 import GetUploadRequest, Upload, UploadFeedRequest
from classifeed.search.v1.search_service_pb2 import GetDocumentRequest, Hit, SearchRequest, SearchResponse
from classifeed_common.auth import ALL_OWNERS, KeyStore, create_team_token
from classifeed_common.auth.keys import read_private_key
from classifeed_common.auth.owners import Closed, InResponse, Named, Narrowed, Public
from classifeed_common.auth.policy import OPERATOR
from classifeed_common.auth.team_tokens import expand_methods
from classifeed_common.contracts import list_methods, list_services
from classifeed_common.errors import PermissionDenied
from classifeed_common.http.api.callers import CallerCheck
from classifeed_common.rpc.server import Servicer, build_server
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.rpc import settings_for
from classifeed_domain.owner_rules import list_sellers
from classifeed_domain.policy import CALLERS, POLICY, RULES, SELLER_METHODS, SERVED_BY

METHODS: Final = dict(list_methods())
GIVEN: Final = [method for method in METHODS if OPERATOR in CALLERS[method]]
NAMED: Final = [method for method in GIVEN if isinstance(RULES[method], Named)]
CLOSED: Final = [method for method in GIVEN if isinstance(RULES[method], Closed)]
PUBLIC: Final = [method for method in GIVEN if isinstance(RULES[method], Public)]
# One service that has every method; tokens name the services that they are for.
AUDIENCE: Final = "api"
OWN, FOREIGN = "shop", "rival"
# Further fields that requests of a method need.
FURTHER: Final[dict[str, dict[str, Any]]] = {
    "CreateFeed": {"settings": {"source": {"url": "https://shop.example/feed.yml"}}},
    "UpdateFeed": {"update_mask": {"paths": ["settings.source.url"]}},
    "LocateOffer": {"external_id": "a"},
    "UpdateOffer": {"content": {"title": "a"}, "update_mask": {"paths": ["title"]}},
    "ExportOfferErrors": {"format": 1},
}
NAMES: Final = (
    "sellers/{}",
    "sellers/{}/feeds/default",
    "sellers/{}/feeds/default/tasks/1",
    "sellers/{}/feeds/default/fetches/1",
    "sellers/{}/feeds/default/offers/a",
    "{}",
)


def new_request(method: str) -> Any:
    return GetMessageClass(METHODS[method].input_type)()


def place_of(request: Any, path: str) -> tuple[Any, FieldDescriptor]:
    *above, name = path.split(".")
    for part in above:
        request = getattr(request, part)
    return request, request.DESCRIPTOR.fields_by_name[name]


def put(request: Any, path: str, *values: str) -> Any:
    message, field = place_of(request, path)
    if field.is_repeated:
        getattr(message, field.name).extend(values)
    else:
        setattr(message, field.name, values[0])
    return request


def request_about(method: str, seller: str) -> Any:
    """Return a valid request that names a seller in the fields of the method's owner rule."""
    rule = RULES[method]
    assert isinstance(rule, Named)
    further = FURTHER.get(method.rpartition("/")[2], {})
    found = []
    for name in NAMES:
        request = put(GetMessageClass(METHODS[method].input_type)(**further), rule.field, name.format(seller))
        violations = protovalidate.collect_violations(request)
        if not violations:
            return request
        found = [str(each.proto) for each in violations]
    raise AssertionError(f"{method} needs further fields in FURTHER: {found}")


def token_of(keys: KeyStore, owners: Sequence[str] | None) -> str:
    """Return a token for every method; None makes an old token without owners."""
    methods = sorted({f"{method.split('/')[1]}/*" for method in GIVEN})
    token, _ = create_team_token(keys.directory, "shop", methods, 3600, owners=[ALL_OWNERS], policy=POLICY)
    claims = jwt.decode(token, options={"verify_signature": False})
    del claims["owners"]
    if owners is not None:
        claims["owners"] = [*owners]
    kid, key = read_private_key(keys.directory, OPERATOR)
    if owners is None:  # the record has no owners, either
        path = keys.directory / "tokens.json"
        path.write_text(path.read_text().replace('"*"', ""))
        path.write_text(path.read_text().replace("[\n   \n  ]", "[]"))
    return jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": kid})


class Seen:
    """The requests that servicers received."""

    def __init__(self) -> None:
        self.requests: list[Any] = []


def noting_servicer(service: Any, seen: Seen) -> Servicer:
    """Return a servicer that records each request, and responds where a test needs it."""
    module = importlib.import_module(service.file.name.removesuffix(".proto").replace("/", ".") + "_pb2_grpc")
    implementation = getattr(module, f"{service.name}Servicer")()
    responses = {"Search": SearchResponse(), "GetDocument": Hit()}

    def of(method: Any) -> Any:
        async def take(requests: Any, _: Any) -> Any:
            if method.client_streaming:
                async for request in requests:
                    seen.requests.append(request)
            else:
                seen.requests.append(requests)
            if method.name == "GetUpload":
                return Upload(name=requests.name, seller_id=OWN if requests.name.endswith("0") else FOREIGN)
            if method.name in responses:
                return responses[method.name]
            raise NotImplementedError

        async def stream(requests: Any, context: Any) -> AsyncIterator[Any]:
            yield await take(requests, context)

        return stream if method.server_streaming else take

    for method in service.methods:
        setattr(implementation, method.name, of(method))
    return Servicer.of(getattr(module, f"add_{service.name}Servicer_to_server"), implementation)


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest_asyncio.fixture
async def channel(keys: KeyStore, socket_dir: Path, seen: Seen) -> AsyncIterator[grpc.aio.Channel]:
    server = build_server(settings_for(AUDIENCE), POLICY, keys=keys)
    for service in list_services():
        noting_servicer(service, seen).add(server)
    address = f"unix:{socket_dir}/all"
    server.add_insecure_port(address)
    await server.start()
    async with grpc.aio.insecure_channel(address) as opened:
        yield opened
    await server.stop(0)


async def ended(channel: grpc.aio.Channel, method: str, token: str, *requests: Message) -> tuple[str, str]:
    """Return code and reason of a call."""
    shape = METHODS[method]
    kind = f"{'stream' if shape.client_streaming else 'unary'}_{'stream' if shape.server_streaming else 'unary'}"
    start = getattr(channel, kind)(
        method,
        request_serializer=lambda request: request.SerializeToString(),
        response_deserializer=GetMessageClass(shape.output_type).FromString,
    )
    call = start(
        iter(requests) if shape.client_streaming else requests[0],
        metadata=(("authorization", f"Bearer {token}"),),
        timeout=20,
    )
    try:
        await (call.read() if shape.server_streaming else call)
    except grpc.aio.AioRpcError as error:
        return error.code().name, from_rpc_error(error).reason
    return "OK", ""


def test_every_method_has_a_rule_and_nothing_else_has() -> None:
    assert set(RULES) == set(METHODS)


def test_a_method_without_a_rule_is_refused() -> None:
    with pytest.raises(PermissionDenied) as refused:
        POLICY.guard("/classifeed.feeds.v1.FeedService/Later", "team:shop", frozenset({OWN}))
    assert refused.value.reason == "SELLERS_NOT_CHECKED"


@pytest.mark.parametrize("method", [method for method, rule in RULES.items() if isinstance(rule, Named)])
def test_the_field_that_names_the_seller_is_a_text(method: str) -> None:
    rule = RULES[method]
    assert isinstance(rule, Named)
    _, field = place_of(new_request(method), rule.field)
    assert field.type == FieldDescriptor.TYPE_STRING


@pytest.mark.parametrize("method", METHODS)
async def test_a_token_reaches_its_own_sellers_only(
    channel: grpc.aio.Channel, keys: KeyStore, seen: Seen, method: str
) -> None:
    rule = RULES[method]
    own, foreign = (
        request_about(method, seller) if isinstance(rule, Named) else new_request(method) for seller in (OWN, FOREIGN)
    )
    tokens = {name: token_of(keys, owners) for name, owners in {"own": [OWN], "all": [ALL_OWNERS], "old": None}.items()}
    found = {
        (whose, about): await ended(channel, method, token, request)
        for whose, token in tokens.items()
        for about, request in (("own", own), ("foreign", foreign))
    }
    if method not in GIVEN:
        assert {reason for _, reason in found.values()} == {"METHOD_NOT_GRANTED"}
        return
    denied = {key: reason for key, (code, reason) in found.items() if code == "PERMISSION_DENIED"}
    expected = {("old", "own"): "TOKEN_WITHOUT_SELLERS", ("old", "foreign"): "TOKEN_WITHOUT_SELLERS"}
    if isinstance(rule, Named):
        expected["own", "foreign"] = "SELLER_NOT_GRANTED"
        assert found["own", "own"] == found["all", "foreign"] == ("UNIMPLEMENTED", "METHOD_NOT_IMPLEMENTED")
        assert [*map(str, seen.requests)] == [str(own), str(own), str(foreign)]
    elif isinstance(rule, Closed):
        expected |= {("own", "own"): "SELLERS_NOT_CHECKED", ("own", "foreign"): "SELLERS_NOT_CHECKED"}
    elif isinstance(rule, Narrowed) and "INVALID_ARGUMENT" not in {code for code, _ in found.values()}:
        # An empty request names no client, so it concerns no documents of sellers.
        expected |= {("own", "own"): "SELLER_NOT_GRANTED", ("own", "foreign"): "SELLER_NOT_GRANTED"}
    assert denied == expected


def texts_below(descriptor: Descriptor, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every string field of a message, including nested ones."""
    for field in descriptor.fields:
        here = (*path, field.name)
        if field.type == FieldDescriptor.TYPE_STRING:
            yield here
        elif field.message_type is not None and len(path) < 4:
            yield from texts_below(field.message_type, here)


def put_at(message: Any, path: Sequence[str], value: str) -> None:
    name, *below = path
    field = message.DESCRIPTOR.fields_by_name[name]
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        entries = getattr(message, name)
        key, inner = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        if inner.message_type is not None and below[0] == "value":
            put_at(entries[""], below[1:], value)
        elif below[0] == "key" and inner.message_type is None:
            entries[value] = "" if inner.type == FieldDescriptor.TYPE_STRING else 0
        elif below[0] == "key":
            entries[value].SetInParent()
        elif key.type == FieldDescriptor.TYPE_STRING:
            entries[""] = value
    elif field.is_repeated:
        if below:
            put_at(getattr(message, name).add(), below, value)
        else:
            getattr(message, name).append(value)
    elif below:
        put_at(getattr(message, name), below, value)
    else:
        setattr(message, name, value)


@pytest.mark.parametrize("method", NAMED)
def test_a_foreign_seller_is_found_in_every_text_of_a_request(method: str) -> None:
    rule = RULES[method]
    assert isinstance(rule, Named)
    paths = list(texts_below(METHODS[method].input_type))
    assert tuple(rule.field.split(".")) in paths
    for path in paths:
        request = request_about(method, OWN)
        foreign = FOREIGN if path[-1].startswith("seller_id") else f"sellers/{FOREIGN}/feeds/default"
        put_at(request, path, foreign)
        guard = POLICY.guard(method, "team:shop", frozenset({OWN, "other"}))
        assert guard is not None
        if FOREIGN in str(request):  # another member of a oneof may have replaced it
            with pytest.raises(PermissionDenied) as refused:
                guard.check_request(request)
            assert refused.value.reason == "SELLER_NOT_GRANTED", path


def test_every_field_about_sellers_is_known() -> None:
    """A field with another name that holds a seller id must be added to `list_sellers`."""
    known = {"seller_id", "seller_ids"}
    for method in NAMED:
        named = {path[-1] for path in texts_below(METHODS[method].input_type) if "seller" in path[-1]}
        assert named <= known, method


WRONG = ["", "sellers", "sellers/", "sellers/-", "sellers/-/feeds/default", "sellers/*", "sellers/Shop/feeds/default"]
WRONG += [" sellers/shop", "Sellers/shop", "sellers//shop", "sellers/shop2/feeds/default", "/sellers/shop", "shop"]


@pytest.mark.parametrize("method", NAMED)
@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_name_an_own_seller_is_refused(method: str, name: str) -> None:
    rule = RULES[method]
    assert isinstance(rule, Named)
    if rule.field.endswith("seller_id") and name == OWN:
        return
    request = new_request(method)
    message, field = place_of(request, rule.field)
    if name or not field.is_repeated:
        put(request, rule.field, name)
    message.SetInParent()
    guard = POLICY.guard(method, "team:shop", frozenset({OWN}))
    assert guard is not None
    with pytest.raises(PermissionDenied):
        guard.check_request(request)


def test_one_foreign_name_among_own_ones_is_found() -> None:
    method = "/classifeed.feeds.v1.FeedSourceService/GetSourceStates"
    names = [f"sellers/{seller}/feeds/default" for seller in (OWN, OWN, FOREIGN)]
    guard = POLICY.guard(method, "team:shop", frozenset({OWN}))
    assert guard is not None
    guard.check_request(put(new_request(method), "names", *names[:2]))
    with pytest.raises(PermissionDenied):
        guard.check_request(put(new_request(method), "names", *names))


UPLOAD: Final = "/classifeed.feeds.v1.FeedService/UploadFeed"


@pytest.mark.parametrize(
    "requests",
    [
        [UploadFeedRequest(chunk=b"x")],
        [UploadFeedRequest(chunk=b"x"), UploadFeedRequest(spec={"seller_id": OWN})],
        [UploadFeedRequest(spec={"seller_id": OWN}), UploadFeedRequest(spec={"seller_id": FOREIGN})],
        [
            UploadFeedRequest(spec={"seller_id": OWN}),
            UploadFeedRequest(chunk=b"x"),
            UploadFeedRequest(spec={"seller_id": FOREIGN}),
        ],
    ],
)
async def test_each_request_of_a_stream_is_checked(
    channel: grpc.aio.Channel, keys: KeyStore, seen: Seen, requests: list[UploadFeedRequest]
) -> None:
    token = token_of(keys, [OWN])
    assert await ended(channel, UPLOAD, token, *requests) == ("PERMISSION_DENIED", "SELLER_NOT_GRANTED")
    assert FOREIGN not in str(seen.requests)
    whole = [UploadFeedRequest(spec={"seller_id": OWN}), UploadFeedRequest(chunk=b"x")]
    assert await ended(channel, UPLOAD, token, *whole) == ("UNIMPLEMENTED", "METHOD_NOT_IMPLEMENTED")


async def test_a_response_about_another_seller_is_not_sent(channel: grpc.aio.Channel, keys: KeyStore) -> None:
    method = "/classifeed.feeds.v1.FeedService/GetUpload"
    assert isinstance(RULES[method], InResponse)
    own, foreign = (GetUploadRequest(name=f"uploads/00000000-0000-0000-0000-{last:012}") for last in (0, 7))
    token = token_of(keys, [OWN])
    assert await ended(channel, method, token, own) == ("OK", "")
    assert await ended(channel, method, token, foreign) == ("PERMISSION_DENIED", "SELLER_NOT_GRANTED")
    assert await ended(channel, method, token_of(keys, [ALL_OWNERS]), foreign) == ("OK", "")


async def test_a_search_finds_own_offers_only(channel: grpc.aio.Channel, keys: KeyStore, seen: Seen) -> None:
    method = "/classifeed.search.v1.SearchService/Search"
    asked = SearchRequest(client="offers", query=f"seller:{FOREIGN} OR kettle", conditions=[f"seller:{FOREIGN}"])
    asked.filters.add(field="seller").terms.values.add(string_value=FOREIGN)
    assert (await ended(channel, method, token_of(keys, [OWN, "other"]), asked))[0] == "OK"
    [request] = seen.requests
    assert request.filters[:-1] == asked.filters
    added = request.filters[-1]
    assert (added.field, [value.string_value for value in added.terms.values]) == ("seller", ["other", OWN])
    points = SearchRequest(client="points", query="kettle")
    assert await ended(channel, method, token_of(keys, [OWN]), points) == ("PERMISSION_DENIED", "SELLER_NOT_GRANTED")
    assert (await ended(channel, method, token_of(keys, [ALL_OWNERS]), asked))[0] == "OK"
    assert seen.requests[-1] == asked


@pytest.mark.parametrize(
    ("client", "pk", "code"),
    [
        ("offers", "shop/default/a", "OK"),
        ("offers", "rival/default/a", "PERMISSION_DENIED"),
        ("offers", "shop2/default/a", "PERMISSION_DENIED"),
        ("points", "shop/default/a", "PERMISSION_DENIED"),
    ],
)
async def test_a_document_is_read_by_its_own_seller(
    channel: grpc.aio.Channel, keys: KeyStore, client: str, pk: str, code: str
) -> None:
    request = GetDocumentRequest(client=client, pk=pk)
    method = "/classifeed.search.v1.SearchService/GetDocument"
    assert (await ended(channel, method, token_of(keys, [OWN]), request))[0] == code
    assert (await ended(channel, method, token_of(keys, [ALL_OWNERS]), request))[0] == "OK"


@pytest.mark.parametrize("method", CLOSED)
def test_http_refuses_what_grpc_refuses(keys: KeyStore, method: str) -> None:
    service, name = method.removeprefix("/").split("/")
    [*served] = SERVED_BY[service]
    callers = CallerCheck(keys=keys, policy=POLICY, grpc_service=service, audience=served[0])

    def admit(owners: Sequence[str] | None) -> str:
        return callers.admit(name, {"Authorization": f"Bearer {token_of(keys, owners)}"}, "127.0.0.1")

    assert admit([ALL_OWNERS]) == "team:shop"
    for owners, reason in (([OWN], "SELLERS_NOT_CHECKED"), (None, "TOKEN_WITHOUT_SELLERS")):
        with pytest.raises(PermissionDenied) as refused:
            admit(owners)
        assert refused.value.reason == reason


@pytest.mark.parametrize("method", NAMED)
def test_http_has_no_request_to_compare_so_it_refuses(keys: KeyStore, method: str) -> None:
    service, name = method.removeprefix("/").split("/")
    callers = CallerCheck(keys=keys, policy=POLICY, grpc_service=service, audience=SERVED_BY[service][0])
    with pytest.raises(PermissionDenied) as refused:
        callers.admit(name, {"Authorization": f"Bearer {token_of(keys, [OWN])}"}, "127.0.0.1")
    assert refused.value.reason == "SELLERS_NOT_CHECKED"


def test_a_token_of_some_sellers_gets_no_method_that_needs_all() -> None:
    given = set(expand_methods(["read", *SELLER_METHODS], POLICY, for_all=False))
    assert given.isdisjoint(CLOSED)
    assert set(SELLER_METHODS) <= given
    with pytest.raises(ValueError, match="unless its token is for all sellers"):
        expand_methods(["JobService/*"], POLICY, for_all=False)


def test_sellers_are_found_in_what_is_nested() -> None:
    assert {*list_sellers(Feed(name="sellers/a/feeds/b", seller_id="c"))} == {"a", "c"}
    assert {*list_sellers(Feed())} == set()
    assert {*list_sellers(Upload(task="sellers/d/feeds/e/tasks/1"))} == {"d"}
