"""JSON-RPC 2.0 requests over HTTP: `process` (judge a text) and `close` (its verdict is no longer needed)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Discriminator, Field, RootModel, Tag
from starlette.routing import BaseRoute

from classifeed_cleanweb.app.judge_text import Judged, JudgeText, TextRequest
from classifeed_cleanweb.clients.receivers import Receivers
from classifeed_cleanweb.domain.protocol import END, SERVICE_TOKEN_HEADER
from classifeed_cleanweb.metrics import OTHER_SERVICE, REQUESTED
from classifeed_cleanweb.store import reviews
from classifeed_common.auth import KeyStore, Policy
from classifeed_common.db import Database
from classifeed_common.http.api.callers import CallerCheck, TokenHeader
from classifeed_common.http.api.middleware import ApiMiddleware
from classifeed_common.http.api.operations import ApiRequest, Operation
from classifeed_common.http.api.request_limits import RequestLimits, RequestRate
from classifeed_common.http.api.routes import operation_routes
from classifeed_common.rpc.call import remaining_s

_INVALID_PARAMS: Final = -32602
REQUESTS_S: Final = 5000  # per caller; further ones get 429
_MOST_TEXTS: Final = 100
# A request has up to 30; reading 200,000 values takes a second.
_MOST_VALUES: Final = 10_000


class TextBody(BaseModel):
    """The text, with its environment and regions."""

    text: str = Field(max_length=200_000)
    environment: str = Field(min_length=1, max_length=64)
    regions: list[int] = Field(default_factory=list, max_length=20)
    dry_run: bool = Field(default=False, description="If true, no review by people is opened.")


class ProcessParams(BaseModel):
    """The text to judge, and its requester."""

    service: str = Field(min_length=1, max_length=128)
    type: Literal["text"]
    key: str = Field(min_length=1, max_length=2048)
    body: TextBody


class Process(BaseModel):
    """A JSON-RPC request."""

    jsonrpc: Literal["2.0"]
    method: Literal["process"]
    params: ProcessParams
    id: int | str


class CloseBody(BaseModel):
    """The environment of the text."""

    environment: str = Field(min_length=1, max_length=64)


class CloseParams(BaseModel):
    """The key that needs no verdict."""

    service: str = Field(min_length=1, max_length=128)
    type: Literal["text"]
    key: str = Field(min_length=1, max_length=2048)
    body: CloseBody


class Close(BaseModel):
    """A JSON-RPC request: the verdicts about a key are no longer needed."""

    jsonrpc: Literal["2.0"]
    method: Literal["close"]
    params: CloseParams
    id: int | str


def _tag_of(body: Any) -> str:
    first = body[0] if isinstance(body, list) and body else body
    method = first.get("method") if isinstance(first, dict) else getattr(first, "method", None)
    if isinstance(body, list):
        return "closes" if method == "close" else "batch"
    return "close" if method == "close" else ""


class ProcessBody(
    RootModel[
        Annotated[
            # Errors name fields below the tag, so a single request has an empty tag.
            Annotated[Process, Tag("")]
            | Annotated[Close, Tag("close")]
            | Annotated[list[Process], Field(min_length=1, max_length=_MOST_TEXTS), Tag("batch")]
            | Annotated[list[Close], Field(min_length=1, max_length=_MOST_TEXTS), Tag("closes")],
            Discriminator(_tag_of),
        ]
    ]
):
    """A request, or a batch of requests with one method."""


class Processed(BaseModel):
    """A JSON-RPC response: a result or an error."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: int | str
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class ProcessedBody(RootModel[Processed | list[Processed]]):
    """A response, or the responses of a batch."""


@dataclass(frozen=True, slots=True)
class RequestServices:
    """Services that the requests use."""

    judge_text: JudgeText
    receivers: Receivers
    database: Database


async def process(services: RequestServices, request: ApiRequest) -> ProcessedBody:
    """Judge texts, or close their reviews; a request without a receiver of callbacks gets a JSON-RPC error."""
    body: Process | Close | list[Process] | list[Close] = request.body.root
    batch: Sequence[Process | Close] = body if isinstance(body, list) else [body]
    known = [each for each in batch if services.receivers.knows(each.params.service, each.params.body.environment)]
    if isinstance(batch[0], Close):
        results = await _close(services.database, [each for each in known if isinstance(each, Close)])
    else:
        REQUESTED.labels(OTHER_SERVICE).inc(len(batch) - len(known))
        results = await _judge(services.judge_text, [each for each in known if isinstance(each, Process)])
    processed = [_processed(each, results.get(id(each))) for each in batch]
    return ProcessedBody(processed if isinstance(body, list) else processed[0])


async def _judge(judge_text: JudgeText, requests: Sequence[Process]) -> dict[int, dict[str, Any]]:
    for each in requests:
        REQUESTED.labels(each.params.service).inc()
    judged = await judge_text([_text_of(each.params) for each in requests])
    return {id(each): _result_of(each.params.key, found) for each, found in zip(requests, judged, strict=True)}


async def _close(database: Database, requests: Sequence[Close]) -> dict[int, dict[str, Any]]:
    keys: dict[tuple[str, str], list[str]] = {}
    for each in requests:
        keys.setdefault((each.params.service, each.params.body.environment), []).append(each.params.key)
    closed: dict[tuple[str, str], set[str]] = {}
    for place, of_place in keys.items():
        async with database.transaction(timeout_s=remaining_s()) as tx:
            closed[place] = await reviews.withdraw_requests(tx, *place, of_place)
    return {
        id(each): {"closed": each.params.key in closed[each.params.service, each.params.body.environment]}
        for each in requests
    }


def _text_of(params: ProcessParams) -> TextRequest:
    return TextRequest(
        params.service,
        params.body.environment,
        params.key,
        params.body.text,
        tuple(params.body.regions),
        params.body.dry_run,
    )


def _processed(sent: Process | Close, result: dict[str, Any] | None) -> Processed:
    if result is not None:
        return Processed(jsonrpc="2.0", id=sent.id, result=result)
    message = f"{sent.params.service}/{sent.params.body.environment} has no receiver of callbacks"
    return Processed(jsonrpc="2.0", id=sent.id, error={"code": _INVALID_PARAMS, "message": message})


def _result_of(key: str, judged: Judged) -> dict[str, Any]:
    if judged.with_people:
        return {"errors": {"clean-web": "timeout"}}
    verdicts: list[dict[str, Any]] = [
        {
            "name": verdict.name,
            "subsource": "rule" if verdict.findings else "people",
            "value": True,
            "entity": "text",
            "source": verdict.source,
            "key": key,
            **({"reviewers": verdict.reviewers} if verdict.reviewers else {}),
            "spans": [
                {"start": finding.start, "end": finding.end, "excerpt": finding.excerpt, "rule": finding.rule}
                for finding in verdict.findings
            ],
        }
        for verdict in judged.verdicts
    ]
    verdicts.append({"name": END, "value": True, "entity": "text", "source": judged.source, "key": key})
    return {"verdicts": verdicts}


_OPERATION: Final[Operation[RequestServices]] = Operation(
    "POST",
    "/v2/",
    "Judge a text, or close its review",
    process,
    ProcessedBody,
    rpc="JudgeText",
    body=ProcessBody,
    max_body_bytes=2 << 20,
    max_json_depth=8,
    max_json_values=_MOST_VALUES,
    is_audited=False,
)


def request_routes(services: RequestServices, *, keys: KeyStore, policy: Policy) -> Sequence[BaseRoute]:
    """Return the route of requests.

    Args:
        services: services that the requests use.
        keys: keys that verify tokens.
        policy: policy that says who may request verdicts.
    """
    callers = CallerCheck(
        keys=keys,
        policy=policy,
        grpc_service="classifeed.cleanweb.v1.CleanwebService",
        audience="cleanweb",
        header=TokenHeader(SERVICE_TOKEN_HEADER),
        limits=RequestLimits(per_caller=RequestRate(per_s=REQUESTS_S, burst=REQUESTS_S)),
    )
    middleware = ApiMiddleware("verdicts", "classifeed_cleanweb", services, callers=callers)
    return operation_routes((_OPERATION,), middleware)
