"""Channels to other services: every call carries a token, the trace and the caller's deadline."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import grpc
import grpc.aio
from google.protobuf.descriptor_pb2 import MethodOptions

from classifeed_common.auth.service_tokens import KeyStore
from classifeed_common.contracts import list_methods
from classifeed_common.rpc.call import REQUEST_ID_KEY, Peer, bounded_timeout_s, current_call
from classifeed_common.rpc.keepalive import KEEPALIVE
from classifeed_common.rpc.server import MAX_MESSAGE_BYTES
from classifeed_common.telemetry.tracing import CallSpan, client_span

DEFAULT_TIMEOUT_S: Final = 10.0
_LONGEST_PAUSE_MS: Final = 2_000

_REPEATABLE: Final = (MethodOptions.IDEMPOTENT, MethodOptions.NO_SIDE_EFFECTS)


@cache
def service_config() -> str:
    """Return the gRPC service config: unary calls that their proto declares repeatable are retried on UNAVAILABLE."""
    names = []
    for full_method, method in list_methods():
        streaming = method.client_streaming or method.server_streaming
        if not streaming and method.GetOptions().idempotency_level in _REPEATABLE:
            _, service, name = full_method.split("/")
            names.append({"service": service, "method": name})
    retry = {
        "maxAttempts": 4,
        "initialBackoff": "0.1s",
        "maxBackoff": "2s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    return json.dumps(
        {
            "loadBalancingConfig": [{"round_robin": {}}],
            "methodConfig": [{"name": names, "retryPolicy": retry}],
            "retryThrottling": {"maxTokens": 20, "tokenRatio": 0.2},
        }
    )


def open_channel(
    target: str,
    *,
    caller: str,
    audience: str,
    keys: KeyStore | None,
    default_timeout_s: float = DEFAULT_TIMEOUT_S,
) -> grpc.aio.Channel:
    """Return a channel that connects when needed, and reconnects at most 2 s after a loss. Close it at the end.

    Args:
        target: host:port, or unix:path.
        caller: our name in the tokens.
        audience: name of the service behind `target`.
        keys: keys that sign the tokens; None: calls have no token.
        default_timeout_s: timeout of unary calls without one, in seconds. Inside the handling of a call, the remaining
            time of its caller bounds every call, also streams.
    """
    options: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        *KEEPALIVE,
        ("grpc.initial_reconnect_backoff_ms", 100),
        # The longest duration of one attempt, not a pause: a busy machine needs more than the first pause.
        ("grpc.min_reconnect_backoff_ms", _LONGEST_PAUSE_MS),
        ("grpc.max_reconnect_backoff_ms", _LONGEST_PAUSE_MS),
        ("grpc.enable_retries", 1),
        ("grpc.service_config", service_config()),
    ]
    inner = grpc.aio.insecure_channel(target, options=options)

    def sign() -> str | None:
        return None if keys is None else keys.issue(caller, audience)

    return SigningChannel(inner, sign, default_timeout_s, Peer(audience, target))


class SigningChannel(grpc.aio.Channel):
    """A channel that adds token, deadline, request id and trace to each call.

    It does not use grpc.aio's client interceptors: those run each call in further tasks, and wrap streams in objects
    that lose cancellation.
    """

    def __init__(
        self, inner: grpc.aio.Channel, sign: Callable[[], str | None], default_timeout_s: float, peer: Peer
    ) -> None:
        self._inner = inner
        self._peer = peer
        self._sign = sign
        self._default_timeout_s = default_timeout_s

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._inner.close()

    async def close(self, grace: float | None = None) -> None:
        """Close the channel; calls under way end after `grace` seconds."""
        await self._inner.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """Return the state of the connection."""
        return self._inner.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Wait until the state changes."""
        await self._inner.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        """Wait until the channel is connected."""
        await self._inner.channel_ready()

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method; stubs call this."""
        return self._signed(self._inner.unary_unary(method, *args, **kwargs), method, self._default_timeout_s)

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method; stubs call this."""
        return self._signed(self._inner.unary_stream(method, *args, **kwargs), method, None)

    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method; stubs call this."""
        return self._signed(self._inner.stream_unary(method, *args, **kwargs), method, None)

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Return the callable of a method; stubs call this."""
        return self._signed(self._inner.stream_stream(method, *args, **kwargs), method, None)

    def _signed(self, start: Callable[..., Any], method: str, default_timeout_s: float | None) -> Callable[..., Any]:
        name = method.removeprefix("/")

        def call(request: Any = None, *, timeout: float | None = None, metadata: Any = None, **options: Any) -> Any:
            carrier: dict[str, str] = {}
            token = self._sign()
            if token is not None:
                carrier["authorization"] = f"Bearer {token}"
            handled = current_call()
            carrier[REQUEST_ID_KEY] = handled.request_id if handled is not None else uuid4().hex
            if handled is not None:
                handled.peers[:] = [self._peer]
            span = client_span(name, carrier)
            started = start(
                request,
                timeout=bounded_timeout_s(default_timeout_s if timeout is None else timeout),
                metadata=(*(metadata or ()), *carrier.items()),
                **options,
            )
            started.add_done_callback(_on_completion(span))
            return started

        return call


def _on_completion(span: CallSpan) -> Callable[[Any], None]:
    def end(call: Any) -> None:
        span.end("CANCELLED" if call.cancelled() else "DONE")

    return end
