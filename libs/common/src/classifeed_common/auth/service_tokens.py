"""Service tokens: EdDSA JWTs with the caller (`iss` = `sub`), one or several audiences (`aud`) and an expiry (`exp`).

This module also verifies team tokens, which `team_tokens` makes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from classifeed_common.auth.keys import JWKS_FILE, read_private_key, read_public_keys
from classifeed_common.auth.policy import OPERATOR
from classifeed_common.auth.team_tokens import MAX_TEAM_TTL_S, TEAM_PREFIX, methods_of, owners_of
from classifeed_common.auth.token_records import ABSENT, TokenRecords, stamp_of
from classifeed_common.errors import Unauthenticated

DEFAULT_TTL_S: Final = 120.0
MAX_TTL_S: Final = 3600.0
LEEWAY_S: Final = 5.0
_CACHED_TOKENS: Final = 4096


@dataclass(frozen=True, slots=True)
class ServiceToken:
    """A verified token.

    Attributes:
        caller: authenticated caller.
        audiences: services that accept the token.
        expires_at: expiry, in seconds since 1970.
        token_id: id of the token in the records.
        may: methods that the token names; None: all methods that the table lists for the caller.
        owners: owners whose data the token may reach, or ALL_OWNERS; None: it is no team token.
    """

    caller: str
    audiences: frozenset[str]
    expires_at: float
    token_id: str
    may: frozenset[str] | None = None
    owners: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class _Signer:
    stamp: tuple[int, int]
    key: Ed25519PrivateKey
    kid: str


class KeyStore:
    """Signs and verifies tokens with the keys of a folder; changed files are read again without a restart.

    Calls are cheap: a signed token is reused for half of its lifetime, and a verified one is cached until the public
    keys change. For one event loop; it blocks only to read a few kilobytes after a change.

    Args:
        directory: folder that `write_keys` made.
        now: clock, in seconds since 1970.
    """

    def __init__(self, directory: Path, *, now: Callable[[], float] = time.time) -> None:
        self._directory = directory
        self._jwks_path = directory / JWKS_FILE
        self._now = now
        self._signers: dict[str, _Signer] = {}
        self._issued: dict[tuple[str, str | tuple[str, ...], float], tuple[str, float, str]] = {}
        self._jwks_stamp: tuple[int, int] | None = None
        self._public: dict[str, tuple[str, jwt.PyJWK]] = {}
        self._verified: dict[str, ServiceToken] = {}
        self._jwks_fault: str | None = None
        self._records = TokenRecords(directory)

    @property
    def directory(self) -> Path:
        """The folder of the keys."""
        return self._directory

    @property
    def faults(self) -> dict[str, str]:
        """Faults that make the service refuse valid tokens, by kind of token; empty: none."""
        self._reload_public_keys()
        found = {}
        if self._jwks_fault is not None:
            found["tokens"] = (
                f"{self._jwks_fault}, so every call is refused. Restore the file from a backup, or remove it and start "
                "`classifeed up`, which makes it from the private keys"
            )
        if (fault := self._records.fault) is not None:
            found["team tokens"] = fault
        return found

    def issue(self, caller: str, audience: str | tuple[str, ...], ttl_s: float = DEFAULT_TTL_S) -> str:
        """Return a token for `Bearer` that stays valid for at least half of `ttl_s`.

        A service uses one audience per token, so that the called service cannot use it elsewhere. Tokens with several
        audiences are for a person's tools.

        Raises:
            Unauthenticated: the folder has no private key of the caller.
        """
        signer = self._signer(caller)
        now = self._now()
        place = (caller, audience, ttl_s)
        token, use_until, kid = self._issued.get(place, ("", 0.0, ""))
        if kid == signer.kid and now < use_until:
            return token
        claims = {
            "iss": caller,
            "sub": caller,
            "aud": audience if isinstance(audience, str) else list(audience),
            "iat": int(now),
            "exp": int(now + ttl_s),
            "jti": uuid4().hex,
        }
        token = jwt.encode(claims, signer.key, algorithm="EdDSA", headers={"kid": signer.kid})
        self._issued[place] = (token, now + ttl_s / 2, signer.kid)
        return token

    def verify(self, token: str, audience: str) -> ServiceToken:
        """Return the content of a token that is meant for `audience`.

        Raises:
            Unauthenticated: signature, key, owner of the key, audience or time is wrong.
        """
        self._reload_public_keys()
        verified = self._verified.get(token)
        if verified is None:
            verified = self._decode(token)
            if len(self._verified) >= _CACHED_TOKENS:
                self._verified.clear()
            self._verified[token] = verified
        now = self._now()
        if audience not in verified.audiences:
            meant = ", ".join(sorted(verified.audiences))
            raise Unauthenticated(
                "TICKET_FOR_ANOTHER", f"The token is for {meant}, this service is {audience}. Request a token for it."
            )
        if verified.expires_at + LEEWAY_S < now:
            raise Unauthenticated("TICKET_EXPIRED", "The token has expired. Send a new one; check both clocks.")
        longest_s = MAX_TTL_S if verified.may is None else MAX_TEAM_TTL_S
        if verified.expires_at - now > longest_s + LEEWAY_S:
            raise Unauthenticated(
                "TICKET_TOO_LONG", f"Tokens are valid for {longest_s:.0f} s at most. Send a shorter one."
            )
        if verified.may is not None:
            listed = self._records.check(verified.token_id)
            if not verified.owners:  # it was created before tokens had owners
                return replace(verified, owners=listed)
        return verified

    def _decode(self, token: str) -> ServiceToken:
        try:
            kid = jwt.get_unverified_header(token).get("kid", "")
            owner, key = self._public[kid]
            claims = jwt.decode(
                token,
                key,
                algorithms=["EdDSA"],
                options={
                    "require": ["iss", "sub", "aud", "exp", "jti"],
                    # Audience and time are checked at each use by our clock: verified tokens are cached.
                    "verify_aud": False,
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
        except KeyError as error:
            raise Unauthenticated(
                "TICKET_KEY_UNKNOWN", "The key of the token is unknown. Sign with a key that jwks.json lists."
            ) from error
        except jwt.InvalidTokenError as error:
            raise Unauthenticated("TICKET_INVALID", f"The token cannot be verified: {error}.") from error
        may: frozenset[str] | None = None
        owners: frozenset[str] | None = None
        is_of_team = owner == OPERATOR and str(claims["sub"]).startswith(TEAM_PREFIX)
        if is_of_team:
            may, owners = methods_of(claims.get("may")), owners_of(claims.get("owners"))
        if owner != claims["iss"] or not (is_of_team or owner == claims["sub"]):
            raise Unauthenticated(
                "TICKET_KEY_OF_ANOTHER", f"The token says {claims['sub']!r}, its key belongs to another caller."
            )
        named = claims["aud"]
        audiences = [named] if isinstance(named, str) else named
        if not isinstance(audiences, list) or not all(isinstance(each, str) for each in audiences):
            raise Unauthenticated("TICKET_INVALID", "The token's audience is neither a name nor a list of names.")
        if not isinstance(claims["exp"], int):
            raise Unauthenticated("TICKET_INVALID", "The token's time is not in whole seconds.")
        return ServiceToken(
            str(claims["sub"]), frozenset(audiences), float(claims["exp"]), str(claims["jti"]), may, owners
        )

    def _signer(self, caller: str) -> _Signer:
        path = self._directory / f"{caller}.pem"
        try:
            stamp = stamp_of(path)
            signer = self._signers.get(caller)
            if signer is not None and signer.stamp == stamp:
                return signer
            kid, key = read_private_key(self._directory, caller)
        except FileNotFoundError as error:
            raise Unauthenticated(
                "CALLER_HAS_NO_KEY",
                f"There is no key {path.name} in the keys folder, so {caller} cannot call any service.",
            ) from error
        except ValueError as error:
            raise Unauthenticated("CALLER_HAS_NO_KEY", str(error)) from error
        signer = _Signer(stamp, key, kid)
        self._signers[caller] = signer
        return signer

    def _reload_public_keys(self) -> None:
        stamp = stamp_of(self._jwks_path, missing=ABSENT)
        if stamp == self._jwks_stamp and self._jwks_fault is None:
            return
        self._public, self._jwks_fault = {}, None
        try:
            keys = read_public_keys(self._directory)
            self._public = {key["kid"]: (key["owner"], jwt.PyJWK(key, algorithm="EdDSA")) for key in keys}
        except (OSError, ValueError, TypeError, KeyError, jwt.PyJWTError) as error:
            self._jwks_fault = f"{self._jwks_path} cannot be read ({type(error).__name__})"
        if stamp == ABSENT:
            self._jwks_fault = f"{self._jwks_path} is missing"
        self._verified.clear()
        self._jwks_stamp = stamp
