"""Clients of the index, and who may write the documents and schemas of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_common.auth.policy import OPERATOR, SERVICE
from classifeed_common.auth.team_tokens import TEAM_PREFIX
from classifeed_common.errors import PermissionDenied

# A service that is not in this table writes nothing. A service in the table reads only the schemas of these clients.
WRITES: Final[Mapping[str, frozenset[str]]] = {
    "offers": frozenset({"offers"}),
    "moderation": frozenset({"points"}),
}


def check_writer(caller: str, client: str) -> None:
    """Check that the caller may write documents and schemas of a client.

    A service may write for its own clients. People may write for every client: they call with the key `operator`, with
    the key `service`, or with a token of a team that the operator made for these methods.

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
            f"Its own clients: {', '.join(sorted(own)) or 'none'}.",
            metadata={"caller": caller, "client": client},
        )


def check_reader(caller: str, client: str) -> None:
    """Check that the caller may read the schemas of a client: `check_writer` passes, or the caller writes no documents.

    Raises:
        PermissionDenied: CLIENT_OF_ANOTHER.
    """
    if caller in WRITES:
        check_writer(caller, client)
