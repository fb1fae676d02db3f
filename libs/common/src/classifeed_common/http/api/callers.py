"""Authentication of HTTP callers by a service token in a header, and authorisation by the policy."""

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
        name: name of the header.
        scheme: word before the token, in any case; empty: the header has only the token.
    """

    name: str
    scheme: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.scheme} <token>" if self.scheme else f"{self.name}: <token>"

    def token_of(self, headers: Mapping[str, str]) -> str | None:
        """Return the token; empty: the header has none of this scheme; None: the header is missing."""
        value = headers.get(self.name)
        if value is None or not self.scheme:
            return value.strip() if value is not None else None
        scheme, _, token = value.partition(" ")
        return token.strip() if scheme.lower() == self.scheme.lower() else ""


ANONYMOUS_PREFIX: Final = "anonymous@"
"""Prefix of the name of a caller without a token; the client's address follows."""
AUTHORIZATION: Final = TokenHeader("Authorization", "Bearer")


class CallerCheck:
    """Admits callers, each within its request limit.

    Args:
        keys: keys that verify tokens (`runner.listening.http_keys` says when the loopback needs them too). None: every
            caller who reaches the port may request everything, and all share one anonymous limit.
        policy: callers of each gRPC method, and so of each operation.
        grpc_service: service of the methods in `Operation.rpc`, such as `package.Service`.
        audience: name of this service; tokens must be for it.
        header: header with the token.
        limits: request limits by caller.
        takes_anonymous: whether callers without a token are accepted too; a wrong token is always refused.
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
        """Return the name of the caller if it may call the method.

        Args:
            rpc: name of the method.
            headers: headers of the request.
            client: address of the client.

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
