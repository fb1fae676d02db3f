"""Who calls an HTTP API: the service token in a header, the policy, and callers without a token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from classifeed_common.auth import KeyStore, Policy
from classifeed_common.errors import Unauthenticated
from classifeed_common.http.api.request_limits import NO_LIMITS, RequestLimits


@dataclass(frozen=True, slots=True)
class TokenHeader:
    """The header in which callers send their service token.

    Attributes:
        name: of the header.
        scheme: word before the token, in any case; empty: the token stands alone.
    """

    name: str
    scheme: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.scheme} <token>" if self.scheme else f"{self.name}: <token>"

    def token_of(self, headers: Mapping[str, str]) -> str | None:
        """Return the token; empty: the header has none of this scheme; None: there is no such header."""
        value = headers.get(self.name)
        if value is None or not self.scheme:
            return value.strip() if value is not None else None
        scheme, _, token = value.partition(" ")
        return token.strip() if scheme.lower() == self.scheme.lower() else ""


ANONYMOUS_PREFIX: Final = "anonymous@"
"""Begins the name of a caller without a token; the address follows."""
AUTHORIZATION: Final = TokenHeader("Authorization", "Bearer")


class CallerCheck:
    """Lets callers in, each within its limit of requests.

    Args:
        keys: verify tokens (`runner.listening.http_keys` says when they are needed on the loopback too); None: whoever
            reaches the port may request everything, and all of them are one anonymous caller.
        policy: who may call which gRPC method, and so request which operation.
        grpc_service: whose methods `Operation.rpc` names, as in `package.Service`.
        audience: name of this service; tokens must be for it.
        header: where the token stands.
        limits: of requests, by caller.
        takes_anonymous: whether a caller that sends no token is accepted too; a wrong token is refused all the same.
    """

    def __init__(
        self,
        *,
        keys: KeyStore | None,
        policy: Policy,
        grpc_service: str,
        audience: str,
        header: TokenHeader = AUTHORIZATION,
        limits: RequestLimits = NO_LIMITS,
        takes_anonymous: bool = False,
    ) -> None:
        self._keys = keys
        self._policy = policy
        self._grpc_service = grpc_service
        self._audience = audience
        self.header = header
        self.limits = limits
        self._takes_anonymous = takes_anonymous

    @property
    def wants_tokens(self) -> bool:
        """Whether a caller without a token is refused."""
        return self._keys is not None and not self._takes_anonymous

    def admit(self, rpc: str, headers: Mapping[str, str], client: str) -> str:
        """Return who calls, once it is clear that they may.

        Args:
            rpc: name of the method.
            headers: of the request.
            client: address that it came from.

        Raises:
            Unauthenticated: no token, or one that is not valid here.
            PermissionDenied: the policy does not list the caller.
            ResourceExhausted: REQUEST_RATE_LIMIT.
        """
        token = self.header.token_of(headers)
        if self._keys is None or (token is None and self._takes_anonymous):
            self.limits.take(None)
            return f"{ANONYMOUS_PREFIX}{client}"
        if not token:
            raise Unauthenticated(
                "TICKET_MISSING", f"This needs a service token: send it in the header `{self.header}`."
            )
        verified = self._keys.verify(token, self._audience)
        method = f"/{self._grpc_service}/{rpc}"
        self._policy.check(method, verified.caller, verified.may)
        if self._policy.guard(method, verified.caller, verified.owners) is not None:
            self._policy.owner_rules.check_without_messages(method, verified.caller)
        self.limits.take(verified.caller)
        return verified.caller
