"""Owners: limits the data that a request may reach when its token is for some owners only (ADR 0098).

Each method has a rule. The rules, and the function that finds owners in a message, come from the suite
(`classifeed_domain.policy`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import Message

from classifeed_common.errors import PermissionDenied

ALL_OWNERS: Final = "*"


@dataclass(frozen=True, slots=True)
class Named:
    """The request names its owners.

    Attributes:
        field: path of the field that must name an owner, such as `feed.name`. In a stream, the first request must have
            it. All other owners that any request names are checked too.
    """

    field: str


@dataclass(frozen=True, slots=True)
class InResponse:
    """Only the response names an owner: it is checked before it is sent. For methods that only read."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The request is changed so that it reaches the data of the token's owners only.

    Attributes:
        narrow: function that changes the request, given the owners; raises PermissionDenied where it cannot.
    """

    narrow: Callable[[Any, frozenset[str]], None]


@dataclass(frozen=True, slots=True)
class Public:
    """The method returns and changes nothing that belongs to an owner."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The method needs a token of all owners."""


OwnerRule = Named | InResponse | Narrowed | Public | Closed


class OwnerRules:
    """The rules of all methods.

    Args:
        rules: rules by full method; a method without a rule is refused.
        find_owners: function that returns all owners that a message names, in any field.
    """

    def __init__(self, rules: Mapping[str, OwnerRule], find_owners: Callable[[Message], Iterable[str]]) -> None:
        self._rules = rules
        self._find_owners = find_owners

    def guard(self, method: str, caller: str, owners: frozenset[str]) -> OwnerGuard:
        """Return the guard that checks the messages of one call.

        Raises:
            PermissionDenied: SELLERS_NOT_CHECKED, the token may not call the method at all.
        """
        if self.is_for_all_only(method):
            raise _closed(method, caller)
        return OwnerGuard(self._rules[method], self._find_owners, method, caller, owners)

    def is_for_all_only(self, method: str) -> bool:
        """Return whether only a token of all owners may call a method."""
        return isinstance(self._rules.get(method, Closed()), Closed)

    def check_without_messages(self, method: str, caller: str) -> None:
        """Return if the method is public: for entry points that have no message to check.

        Raises:
            PermissionDenied: SELLERS_NOT_CHECKED.
        """
        if not isinstance(self._rules.get(method), Public):
            raise _closed(method, caller)


class OwnerGuard:
    """Checks the messages of one call; made by `OwnerRules.guard`."""

    __slots__ = ("_caller", "_find_owners", "_has_begun", "_method", "_owners", "_rule")

    def __init__(
        self,
        rule: OwnerRule,
        find_owners: Callable[[Message], Iterable[str]],
        method: str,
        caller: str,
        owners: frozenset[str],
    ) -> None:
        self._rule = rule
        self._find_owners = find_owners
        self._method = method
        self._caller = caller
        self._owners = owners
        self._has_begun = False

    def check_request(self, request: Message) -> None:
        """Check that a request names only owners of the token; the rule may change the request.

        Raises:
            PermissionDenied: SELLER_NOT_GRANTED.
        """
        found = set(self._find_owners(request))
        if (
            isinstance(self._rule, Named)
            and not self._has_begun
            and not (found and _is_named(request, self._rule.field))
        ):
            raise PermissionDenied(
                "SELLER_NOT_GRANTED",
                f"The token of {self._caller} is for some sellers only, so {self._rule.field} must name one of them.",
                metadata={"method": self._method, "caller": self._caller},
            )
        self._has_begun = True
        self._compare(found)
        if isinstance(self._rule, Narrowed):
            self._rule.narrow(request, self._owners)

    def check_response(self, response: Any) -> None:
        """Check that a response belongs to an owner of the token.

        Raises:
            PermissionDenied: SELLER_NOT_GRANTED.
        """
        if isinstance(self._rule, InResponse):
            found = set(self._find_owners(response)) if isinstance(response, Message) else set()
            if not found:
                raise self._foreign()
            self._compare(found)

    def _compare(self, found: set[str]) -> None:
        if not self._owners >= found:
            raise self._foreign()

    def _foreign(self) -> PermissionDenied:
        return PermissionDenied(
            "SELLER_NOT_GRANTED",
            f"The token of {self._caller} is for {', '.join(sorted(self._owners))} only. Call with names of these "
            "sellers, or request a token for the others from the operator (`classifeed token create --seller`).",
            metadata={"method": self._method, "caller": self._caller},
        )


def _is_named(request: Message, path: str) -> bool:
    *above, name = path.split(".")
    message: Any = request
    for part in above:
        message = getattr(message, part)
    return bool(getattr(message, name))


def _closed(method: str, caller: str) -> PermissionDenied:
    return PermissionDenied(
        "SELLERS_NOT_CHECKED",
        f"{method} reaches data of all sellers, and the token of {caller} is for some sellers only. Request a token of "
        "all sellers from the operator (`classifeed token create --all-sellers`).",
        metadata={"method": method, "caller": caller},
    )
