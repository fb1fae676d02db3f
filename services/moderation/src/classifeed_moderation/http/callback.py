"""The callback of the verdict service: verdicts that arrive later, or without a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel, FailFast
from starlette.routing import BaseRoute

from classifeed_common.auth import KeyStore, Policy
from classifeed_common.errors import FieldViolation, InvalidArgument, ResourceExhausted
from classifeed_common.http.api.callers import ANONYMOUS_PREFIX, CallerCheck, TokenHeader
from classifeed_common.http.api.middleware import ApiMiddleware
from classifeed_common.http.api.operations import ApiRequest, Operation
from classifeed_common.http.api.request_limits import RequestLimits, RequestRate
from classifeed_common.http.api.routes import operation_routes
from classifeed_common.rpc.call import current_call
from classifeed_common.telemetry.metrics import HTTP_REFUSALS
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.app.decisions.record_verdicts import RecordVerdicts
from classifeed_moderation.clients.verdict_service import TOKEN_HEADER
from classifeed_moderation.domain.verdicts import VerdictsInvalidError, parse_callback

_NAME: Final = "verdict-callback"
_ANONYMOUS: Final = RequestRate(per_s=1, burst=1)
_ANONYMOUS_KEYS: Final = 10
_MOST_VALUES: Final = 20_000
# Callbacks of one sender; a verdict service repeats further ones after Retry-After.
CALLBACKS_S: Final = 1000


class Callback(BaseModel):
    """Verdicts, each with its key."""

    verdicts: Annotated[list[dict[str, Any]], FailFast()]


class Stored(BaseModel):
    """Response to the sender once the verdicts are stored."""

    keys: int


async def apply_moderation_verdicts(record_verdicts: RecordVerdicts, request: ApiRequest) -> Stored:
    """Store the verdicts of a callback; verdicts about unknown keys succeed too, so that they are not sent again.

    Raises:
        InvalidArgument: VERDICTS_INVALID.
        ResourceExhausted: CALLBACK_KEYS_TOO_MANY, a callback without a token has more than a few keys.
    """
    try:
        by_key = parse_callback(request.body.verdicts)
    except VerdictsInvalidError as error:
        HTTP_REFUSALS.labels(_NAME, "VERDICTS_INVALID").inc()
        field, _, what = str(error).partition(": ")
        raise InvalidArgument(
            "VERDICTS_INVALID", f"{error}. Correct the callback.", violations=[FieldViolation(field, what)]
        ) from error
    if request.by.startswith(ANONYMOUS_PREFIX) and len(by_key) > _ANONYMOUS_KEYS:
        HTTP_REFUSALS.labels(_NAME, "CALLBACK_KEYS_TOO_MANY").inc()
        raise ResourceExhausted(
            "CALLBACK_KEYS_TOO_MANY",
            f"The callback has {len(by_key)} keys and no token; {_ANONYMOUS_KEYS} are allowed. Send it with a token.",
        )
    call = current_call()
    request_id = call.request_id if call is not None else ""
    await record_verdicts([Arrived(key, found, request_id) for key, found in by_key.items()])
    return Stored(keys=len(by_key))


_OPERATION: Final[Operation[RecordVerdicts]] = Operation(
    "POST",
    "/v2/apply_moderation_verdicts",
    "Verdicts of the verdict service",
    apply_moderation_verdicts,
    Stored,
    rpc="ApplyVerdicts",
    body=Callback,
    max_body_bytes=1 << 20,
    max_json_depth=8,
    max_json_values=_MOST_VALUES,
)


def callback_routes(
    record_verdicts: RecordVerdicts,
    *,
    keys: KeyStore,
    policy: Policy,
    takes_anonymous: bool,
) -> Sequence[BaseRoute]:
    """Return the route of the callback.

    Args:
        record_verdicts: stores the verdicts.
        keys: keys that verify tokens.
        policy: policy that says who may apply verdicts.
        takes_anonymous: whether all callers without a token together may send one callback per second with a few keys.
    """
    callers = CallerCheck(
        keys=keys,
        policy=policy,
        grpc_service="classifeed.moderation.v1.ModerationService",
        audience="moderation",
        header=TokenHeader(TOKEN_HEADER),
        limits=RequestLimits(per_caller=RequestRate(per_s=CALLBACKS_S, burst=CALLBACKS_S), anonymous=_ANONYMOUS),
        takes_anonymous=takes_anonymous,
    )
    middleware = ApiMiddleware(_NAME, "classifeed_moderation", record_verdicts, callers=callers)
    return operation_routes((_OPERATION,), middleware)
