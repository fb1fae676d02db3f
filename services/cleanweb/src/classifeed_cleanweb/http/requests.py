"""Requests for verdicts over HTTP: JSON-RPC 2.0, the method `process`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, Field
from starlette.routing import BaseRoute

from classifeed_cleanweb.app.judge_text import Judged, TextJudge
from classifeed_cleanweb.clients.receivers import Receivers
from classifeed_cleanweb.domain.protocol import END, SERVICE_TOKEN_HEADER
from classifeed_common.auth import KeyStore, Policy
from classifeed_common.http.api.callers import CallerCheck, TokenHeader
from classifeed_common.http.api.middleware import ApiMiddleware
from classifeed_common.http.api.operations import ApiRequest, Operation
from classifeed_common.http.api.request_limits import RequestLimits, RequestRate
from classifeed_common.http.api.routes import operation_routes

_INVALID_PARAMS: Final = -32602


class TextBody(BaseModel):
    """The text, and where it belongs."""

    text: str = Field(max_length=200_000)
    environment: str = Field(min_length=1, max_length=64)
    regions: list[int] = Field(default_factory=list, max_length=20)


class ProcessParams(BaseModel):
    """What is to be judged, for whom."""

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


class Processed(BaseModel):
    """A JSON-RPC response: a result or an error."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: int | str
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RequestServices:
    """What the requests work with."""

    judge: TextJudge
    receivers: Receivers


async def process(services: RequestServices, request: ApiRequest) -> Processed:
    """Judge a text; an error of JSON-RPC where nobody is known to whom a callback could go."""
    sent: Process = request.body
    params = sent.params
    if not services.receivers.knows(params.service, params.body.environment):
        message = f"{params.service}/{params.body.environment} has no receiver of callbacks"
        return Processed(jsonrpc="2.0", id=sent.id, error={"code": _INVALID_PARAMS, "message": message})
    judged = await services.judge(
        service=params.service,
        environment=params.body.environment,
        key=params.key,
        text=params.body.text,
        region_ids=params.body.regions,
    )
    return Processed(jsonrpc="2.0", id=sent.id, result=_result_of(params.key, judged))


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
            "spans": [
                {"start": finding.start, "end": finding.end, "excerpt": finding.excerpt, "rule": finding.rule}
                for finding in verdict.findings
            ],
        }
        for verdict in judged.verdicts
    ]
    verdicts.append({"name": END, "value": True, "entity": "text", "source": "cleanweb", "key": key})
    return {"verdicts": verdicts}


_OPERATION: Final[Operation[RequestServices]] = Operation(
    "POST",
    "/v2/",
    "Judge a text",
    process,
    Processed,
    rpc="JudgeText",
    body=Process,
    max_body_bytes=1 << 20,
    max_json_depth=16,
    is_audited=False,
)


def request_routes(
    judge: TextJudge,
    receivers: Receivers,
    *,
    audience: str,
    keys: KeyStore | None,
    policy: Policy,
    requests_s: float,
) -> Sequence[BaseRoute]:
    """Return the route of requests.

    Args:
        audience: whom tokens must be for.
        keys: verify tokens.
        policy: who may have texts judged.
        requests_s: requests a second of one caller, at most.
    """
    callers = CallerCheck(
        keys=keys,
        policy=policy,
        grpc_service="classifeed.cleanweb.v1.CleanwebService",
        audience=audience,
        header=TokenHeader(SERVICE_TOKEN_HEADER),
        limits=RequestLimits(per_caller=RequestRate(per_s=requests_s, burst=max(int(requests_s), 1))),
    )
    middleware = ApiMiddleware("verdicts", "classifeed_cleanweb", RequestServices(judge, receivers), callers=callers)
    return operation_routes((_OPERATION,), middleware)
