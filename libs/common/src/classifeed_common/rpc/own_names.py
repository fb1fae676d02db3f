"""Names of people in requests: whoever has a token of their own acts under its name, however it is written."""

from __future__ import annotations

from classifeed_common.auth.team_tokens import TEAM_PREFIX
from classifeed_common.errors import PermissionDenied
from classifeed_common.rpc.call import current_call


def check_own_name(reviewer: str) -> None:
    """Pass where the caller may review under a name: whoever has a token of their own, under its name only.

    Raises:
        PermissionDenied: it is another one's, so that one person would agree with themselves.
    """
    call = current_call()
    if call is not None and call.caller.startswith(TEAM_PREFIX) and reviewer != call.caller:
        raise PermissionDenied("REVIEWER_OF_ANOTHER", f"The token of {call.caller} reviews as {call.caller} only.")


def spellings(reviewer: str) -> list[str]:
    """Return the names that a person may stand under: that of their token, and the one that an operator types."""
    name = reviewer.removeprefix(TEAM_PREFIX)
    return [name, TEAM_PREFIX + name]
