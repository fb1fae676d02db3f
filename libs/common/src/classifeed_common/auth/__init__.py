"""Who calls, and what it may call: short-lived signed tickets between services, and the table method → callers."""

from classifeed_common.auth.keys import rotate_key, write_keys
from classifeed_common.auth.policy import Policy
from classifeed_common.auth.team_tokens import TeamToken, create_team_token, list_team_tokens, revoke_team_token
from classifeed_common.auth.tickets import KeyStore, Ticket

__all__ = [
    "KeyStore",
    "Policy",
    "TeamToken",
    "Ticket",
    "create_team_token",
    "list_team_tokens",
    "revoke_team_token",
    "rotate_key",
    "write_keys",
]
