"""Policy: which callers may call which methods. The table is the suite's (`classifeed_domain.policy`)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from classifeed_common.auth.owners import ALL_OWNERS, OwnerGuard, OwnerRules
from classifeed_common.errors import PermissionDenied

OPERATOR: Final = "operator"
SERVICE: Final = "service"

REQUEST_LIMIT_BYTES: Final = (1 << 20) + (128 << 10)
"""What a method may take unless the policy says more: 1 MiB, and what is around it. Two bytes may be an item; half a
million of them are decoded in 0.1 s and 60 MB."""
LARGEST_REQUEST_BYTES: Final = 16 << 20
"""What any method may take."""

# Standard health and reflection say nothing about sellers, and probes have no keys.
OPEN: Final = (
    "/grpc.health.v1.Health/",
    "/grpc.reflection.v1.ServerReflection/",
    "/grpc.reflection.v1alpha.ServerReflection/",
)


class Policy:
    """Decides whether a caller may call a method.

    Args:
        callers: full method, as in `/package.Service/Method`, and its callers; what is missing is refused.
        served_by: full name of a gRPC service, and the services that implement it.
        owner_rules: what a token that is for some owners only may reach; None: nothing.
        large_requests: full methods that take larger requests than REQUEST_LIMIT_BYTES, and how large, in bytes.
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
        """Return who may call a method; empty: nobody."""
        return self._table.get(method, frozenset())

    def services_of(self, grpc_service: str) -> tuple[str, ...]:
        """Return the services that implement a gRPC service.

        Raises:
            KeyError: nobody does.
        """
        return self._served_by[grpc_service]

    def limit_bytes(self, method: str) -> int:
        """Return how large a request of a method may be, in bytes; of a stream, each of its messages."""
        return self._large_requests.get(method, REQUEST_LIMIT_BYTES)

    @staticmethod
    def is_open(method: str) -> bool:
        """Whether a method needs no token."""
        return method.startswith(OPEN)

    def guard(self, method: str, caller: str, owners: Set[str] | None) -> OwnerGuard | None:
        """Return what checks the messages of a call; None: they may be about any owner.

        Args:
            method: full method.
            caller: whose token it is.
            owners: owners of the token, or ALL_OWNERS; None: a service or the operator.

        Raises:
            PermissionDenied: no request of this method can be allowed.
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
        """Pass when the table lists the caller.

        Args:
            may: methods that the caller's token names; such a caller may call what the operator may, of these.

        Raises:
            PermissionDenied: it does not, or the method is not in the table.
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
