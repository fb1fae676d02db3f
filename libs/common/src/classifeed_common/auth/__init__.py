"""Authentication and authorisation: short-lived signed tokens, and the table of the callers of each method."""

from classifeed_common.auth.keys import rotate_key, write_keys
from classifeed_common.auth.owners import ALL_OWNERS
from classifeed_common.auth.policy import Policy
from classifeed_common.auth.service_tokens import KeyStore, ServiceToken
from classifeed_common.auth.team_tokens import (
    TeamToken,
    TokenRecordsError,
    bind_team_token,
    create_team_token,
    list_team_tokens,
    reset_token_records,
    revoke_team_token,
)

__all__ = [
    "ALL_OWNERS",
    "KeyStore",
    "Policy",
    "ServiceToken",
    "TeamToken",
    "TokenRecordsError",
    "bind_team_token",
    "create_team_token",
    "list_team_tokens",
    "reset_token_records",
    "revoke_team_token",
    "rotate_key",
    "write_keys",
]
