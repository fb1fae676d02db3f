"""Names of people in requests: a person has one name, in any spelling."""

from __future__ import annotations

import unicodedata

from classifeed_common.auth.team_tokens import TEAM_PREFIX
from classifeed_common.errors import FieldViolation, InvalidArgument, PermissionDenied
from classifeed_common.rpc.call import current_call


def person_name(name: str) -> str:
    """Return the name by which a person is stored and compared: in lower case, without `team:` and outer blanks.

    The name in a token (`team:anna`) and the names that an operator types (`Anna`, `anna`) mean the same person.
    """
    folded = unicodedata.normalize("NFKC", name).casefold().strip()
    while folded.startswith(TEAM_PREFIX):
        folded = folded.removeprefix(TEAM_PREFIX).strip()
    return folded


def own_name(reviewer: str) -> str:
    """Return the reviewer's name in the form of `person_name`.

    Raises:
        InvalidArgument: REVIEWER_INVALID, no name is left.
        PermissionDenied: REVIEWER_OF_ANOTHER, the caller's token is for another person; otherwise a person could agree
            with themselves.
    """
    name = person_name(reviewer)
    if not name:
        what = "must be the name of a person"
        raise InvalidArgument("REVIEWER_INVALID", f"reviewer: {what}", violations=[FieldViolation("reviewer", what)])
    call = current_call()
    if call is not None and call.caller.startswith(TEAM_PREFIX) and name != person_name(call.caller):
        raise PermissionDenied("REVIEWER_OF_ANOTHER", f"The token of {call.caller} reviews as {call.caller} only.")
    return name


def earlier_spellings(name: str) -> list[str]:
    """Return the spellings of a person in rows of earlier versions: the name, and the token's."""
    return [name, TEAM_PREFIX + name]
