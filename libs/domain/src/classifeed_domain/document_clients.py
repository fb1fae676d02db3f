"""Clients of the index, and who may write the documents and schemas of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_common.auth.policy import OPERATOR, SERVICE
from classifeed_common.auth.team_tokens import TEAM_PREFIX
from classifeed_common.errors import PermissionDenied

# A service that is missing here writes nothing; one that writes reads the schemas of its own clients only.
WRITES: Final[Mapping[str, frozenset[str]]] = {
    "offers": frozenset({"offers"}),
    "moderation": frozenset({"points"}),
}


def check_writer(caller: str, client: str) -> None:
    """Pass when the caller may write what belongs to a client: it is its own, or the caller is a person.

    Persons come with the operator's key, with that which stands in for services, or with a token of a team, which the
    operator made for these very methods.

    Raises:
        PermissionDenied: CLIENT_OF_ANOTHER.
    """
    if caller in {OPERATOR, SERVICE} or caller.startswith(TEAM_PREFIX):
        return
    own = WRITES.get(caller, frozenset())
    if client not in own:
        raise PermissionDenied(
            "CLIENT_OF_ANOTHER",
            f"{caller} may not write documents or schemas of the client {client}. "
            f"Its own: {', '.join(sorted(own)) or 'none'}.",
            metadata={"caller": caller, "client": client},
        )


def check_reader(caller: str, client: str) -> None:
    """Pass when the caller may read the schemas of a client: as in `check_writer`, or it writes none at all.

    Raises:
        PermissionDenied: CLIENT_OF_ANOTHER.
    """
    if caller in WRITES:
        check_writer(caller, client)
