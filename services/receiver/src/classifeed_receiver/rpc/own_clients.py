"""Restrict each caller to its own clients, which `classifeed_domain.document_clients` lists."""

from __future__ import annotations

from classifeed_common.rpc.call import UNSIGNED, current_call
from classifeed_domain.document_clients import check_reader, check_writer


def require_own(client: str) -> None:
    """Check that the caller may write documents and schemas of a client.

    Raises:
        PermissionDenied: CLIENT_OF_ANOTHER.
    """
    if (caller := _caller()) is not None:
        check_writer(caller, client)


def require_readable(client: str) -> None:
    """Check that the caller may read the schemas of a client.

    Raises:
        PermissionDenied: CLIENT_OF_ANOTHER.
    """
    if (caller := _caller()) is not None:
        check_reader(caller, client)


def _caller() -> str | None:
    """Return the caller of the current call; None: callers need no token, so the caller is unknown."""
    call = current_call()
    assert call is not None, "outside of a call"
    return None if call.caller == UNSIGNED else call.caller
