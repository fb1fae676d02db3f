"""Policy: decides which callers may call which methods. The suite has the table (`classifeed_domain.policy`)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from classifeed_common.auth.owners import ALL_OWNERS, OwnerGuard, OwnerRules
from classifeed_common.errors import PermissionDenied

OPERATOR: Final = "operator"
SERVICE: Final = "service"

REQUEST_LIMIT_BYTES: Final = (1 << 20) + (128 << 10)
"""Largest request of a method without another limit: 1 MiB of content and its envelope. An item may have two bytes, and
half a million items are decoded in 0.1 s and 60 MB."""
LARGEST_REQUEST_BYTES: Final = 16 << 20
"""Upper bound for the request limit of any method."""

# The standard health and reflection services show no data of sellers, and probes have no keys.
OPEN: Final = (
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
)


class Policy:
    """Decides whether a caller may call a method.

    Args:
        callers: callers by full method, such as `/package.Service/Method`; a method that is missing is refused.
        served_by: services that implement each gRPC service, by its full name.
        owner_rules: rules for tokens of some owners only; None: such tokens may call nothing.
        large_requests: request limits in bytes, by full method, for methods that need more than REQUEST_LIMIT_BYTES.
    """

    def __init__(
        self,
        callers: Mapping[str, frozenset[str]],
        served_by: Mapping[str, tuple[str, ...]] | None = None,
        owner_rules: OwnerRules | None = None,
        large_requests: Mapping[str, int] | None = None,
    ) -> None:
        self._table = callers
        self._large_requests = large_requests or {}
        self._served_by = served_by or {}
        self.owner_rules = owner_rules or OwnerRules({}, lambda _: ())

    def callers_of(self, method: str) -> frozenset[str]:
        """Return the callers of a method; empty: it has none."""
        return self._table.get(method, frozenset())

    def services_of(self, grpc_service: str) -> tuple[str, ...]:
        """Return the services that implement a gRPC service.

        Raises:
            KeyError: no service implements it.
        """
        return self._served_by[grpc_service]

    def limit_bytes(self, method: str) -> int:
        """Return the size limit of a method's request in bytes; in a stream, the limit of each message."""
        return self._large_requests.get(method, REQUEST_LIMIT_BYTES)

    @staticmethod
    def is_open(method: str) -> bool:
        """Return whether a method needs no token."""
        return method.startswith(OPEN)

    def guard(self, method: str, caller: str, owners: Set[str] | None) -> OwnerGuard | None:
        """Return the guard that checks the messages of a call; None: they may concern any owner.

        Args:
            method: full method.
            caller: owner of the token.
            owners: owners in the token, or ALL_OWNERS; None: the caller is a service or the operator.

        Raises:
            PermissionDenied: no request of this method is allowed with this token.
        """
        if owners is None or ALL_OWNERS in owners:
            return None
        if not owners:
            raise PermissionDenied(
                "TOKEN_WITHOUT_SELLERS",
                f"The token of {caller} does not say for which sellers it is. The operator adds them to this token "
                "(`classifeed token bind`), or creates a new one.",
                metadata={"caller": caller},
            )
        return self.owner_rules.guard(method, caller, frozenset(owners))

    def check(self, method: str, caller: str, may: Set[str] | None = None) -> None:
        """Check that the table lists the caller.

        Args:
            method: full method.
            caller: owner of the token.
            may: methods in a team's token. The team may call those of them that the operator may call.

        Raises:
            PermissionDenied: the caller is not listed, or the method is not in the table.
        """
        callers = self._table.get(method)
        if callers is None:
            raise PermissionDenied(
                "METHOD_NOT_IN_POLICY",
                f"No caller is allowed for {method}: it is missing in classifeed_domain/policy.py.",
                metadata={"method": method},
            )
        if may is not None:
            if method in may and OPERATOR in callers:
                return
            raise PermissionDenied(
                "METHOD_NOT_GRANTED",
                f"The token of {caller} does not include {method}. Request one that names it from the operator "
                "(`classifeed token create --may`).",
                metadata={"method": method, "caller": caller},
            )
        if caller not in callers:
            raise PermissionDenied(
                "CALLER_NOT_ALLOWED",
                f"{caller} may not call {method}. Allowed: {', '.join(sorted(callers))}.",
                metadata={"method": method, "caller": caller},
            )
