"""Tokens of other teams: signed by the operator, for named methods only, until a day that they say, unless withdrawn.

A JWT as the services' own ones, but `iss` is the operator, `sub` is `team:<name>`, and `may` lists methods by service.
The folder of keys keeps a record of each (never the token itself) in `tokens.json`, which the services read again when
it changes. A token is accepted only while this file lists it as good: without the file, or with a damaged one, every
team token is refused (ADR 0098).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

import jwt
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions

from classifeed_common.auth.keys import RECORDS_FILE, read_private_key, write_token_records
from classifeed_common.auth.policy import OPERATOR, Policy
from classifeed_common.contracts import list_methods

TEAM_PREFIX: Final = "team:"
MAX_TEAM_TTL_S: Final = 366 * 86_400.0
READ: Final = "read"
_TEAM = re.compile(r"[a-z][a-z0-9_-]{0,62}")


class TokenRecordsError(Exception):
    """The file of token records is missing or damaged.

    Args:
        fault: what happened, and where.
        fix: what to do.
    """

    def __init__(self, fault: str, fix: str) -> None:
        super().__init__(f"{fault}. {fix}")
        self.fault = fault
        self.fix = fix


@dataclass(frozen=True, slots=True)
class TeamToken:
    """What is kept of a token.

    Attributes:
        token_id: what it is withdrawn by.
        team: whose it is.
        may: full methods that it may call, such as /classifeed.feeds.v1.FeedService/GetTask, sorted.
        created_at: seconds since 1970.
        expires_at: seconds since 1970.
        revoked_at: seconds since 1970; None while it is good.
    """

    token_id: str
    team: str
    may: tuple[str, ...]
    created_at: int
    expires_at: int
    revoked_at: int | None = None


def create_team_token(
    directory: Path, team: str, may: Sequence[str], ttl_s: float, *, policy: Policy, now_s: float | None = None
) -> tuple[str, TeamToken]:
    """Return a new token and its record; only the record is kept.

    Args:
        directory: folder of keys, with the operator's private key.
        team: small letters, digits, `_` and `-`, at most 63.
        may: methods as `expand_methods` takes them.
        ttl_s: how long it is good, at most 366 days.
        policy: what the operator may call, and which services implement it.

    Raises:
        ValueError: the name, a method or the time cannot be; in words.
        FileNotFoundError: the folder has no key of the operator.
        TokenRecordsError: the file of records is missing or damaged.
    """
    if not _TEAM.fullmatch(team):
        raise ValueError(
            f"{team!r} cannot be the name of a team: it begins with a small letter, and may have such, digits, "
            "_ and -, at most 63 characters"
        )
    if not 1 <= ttl_s <= MAX_TEAM_TTL_S:
        raise ValueError(f"a token is valid for 1 second to {MAX_TEAM_TTL_S / 86_400:.0f} days")
    methods = expand_methods(may, policy)
    now = int(time.time() if now_s is None else now_s)
    record = TeamToken(uuid4().hex, team, methods, now, now + int(ttl_s))
    kid, key = read_private_key(directory, OPERATOR)
    claims = {
        "iss": OPERATOR,
        "sub": TEAM_PREFIX + team,
        "aud": sorted({host for method in methods for host in policy.services_of(_service_of(method))}),
        "may": _by_service(methods),
        "iat": record.created_at,
        "exp": record.expires_at,
        "jti": record.token_id,
    }
    _write(directory, [*list_team_tokens(directory), record])
    return jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": kid}), record


def list_team_tokens(directory: Path) -> list[TeamToken]:
    """Return the records of all tokens that were made in a folder, the oldest first.

    Raises:
        TokenRecordsError: the file of records is missing, cannot be read, or is damaged.
    """
    path = directory / RECORDS_FILE
    try:
        document = json.loads(path.read_text())
        return [TeamToken(**{**entry, "may": tuple(entry["may"])}) for entry in document["tokens"]]
    except FileNotFoundError as error:
        raise _unreadable(path, "is missing") from error
    except OSError as error:
        raise _unreadable(path, f"cannot be read ({error.strerror})") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unreadable(path, "is damaged") from error


def reset_token_records(directory: Path) -> Path | None:
    """Begin an empty list of tokens: every token that was made before is refused from then on.

    Returns:
        Where the former file is now; None: there was none.
    """
    path = directory / RECORDS_FILE
    kept = directory / f"{RECORDS_FILE}.{time.strftime('%Y%m%d%H%M%S', time.gmtime())}"
    try:
        path.rename(kept)
    except FileNotFoundError:
        _write(directory, [])
        return None
    _write(directory, [])
    return kept


def revoke_team_token(directory: Path, token_id: str, *, now_s: float | None = None) -> TeamToken:
    """Withdraw a token, and return its record. Idempotent.

    Raises:
        LookupError: there is no such token.
        TokenRecordsError: the file of records is missing or damaged.
    """
    records = list_team_tokens(directory)
    for number, record in enumerate(records):
        if record.token_id == token_id:
            if record.revoked_at is None:
                records[number] = replace(record, revoked_at=int(time.time() if now_s is None else now_s))
                _write(directory, records)
            return records[number]
    raise LookupError(f"there is no token {token_id}")


def expand_methods(patterns: Iterable[str], policy: Policy) -> tuple[str, ...]:
    """Return the full methods that patterns name, sorted.

    A pattern is `FeedService/GetTask`, `FeedService/*`, either with the package before it, or `read`: all methods
    without side effects. Only what the operator may call can be given. What is added to a service later is not in a
    token of today.

    Raises:
        ValueError: a pattern names nothing that can be given, or there is none.
    """
    known = {method: descriptor for method, descriptor in list_methods() if OPERATOR in policy.callers_of(method)}
    found: set[str] = set()
    for pattern in patterns:
        if pattern == READ:
            named = {method for method, descriptor in known.items() if _only_reads(descriptor)}
        else:
            named = {method for method in known if _fits(method, pattern)}
        if not named:
            services = ", ".join(sorted({_service_of(method).rpartition(".")[2] for method in known}))
            raise ValueError(
                f"{pattern!r} names no method that a team may call. Write read, SERVICE/METHOD or SERVICE/*, with "
                f"a service of {services}"
            )
        found |= named
    if not found:
        raise ValueError("a token must name at least one method")
    return tuple(sorted(found))


def _only_reads(method: MethodDescriptor) -> bool:
    # A watch is a read that goes on; its level cannot be declared any more, as contracts are not changed.
    level = method.GetOptions().idempotency_level
    return level == MethodOptions.NO_SIDE_EFFECTS or (method.server_streaming and method.name.startswith("Watch"))


def methods_of(claim: object) -> frozenset[str]:
    """Return the full methods that the claim `may` of a token lists; none where it has another form."""
    if not isinstance(claim, dict):
        return frozenset()
    return frozenset(f"/{service}/{name}" for service, names in claim.items() for name in names)


def _by_service(methods: Sequence[str]) -> dict[str, list[str]]:
    services: dict[str, list[str]] = {}
    for method in methods:
        services.setdefault(_service_of(method), []).append(method.rpartition("/")[2])
    return services


def _fits(method: str, pattern: str) -> bool:
    service, _, name = pattern.removeprefix("/").partition("/")
    full = _service_of(method)
    return service in {full, full.rpartition(".")[2]} and name in {"*", method.rpartition("/")[2]}


def _service_of(method: str) -> str:
    return method.split("/")[1]


def _unreadable(path: Path, what: str) -> TokenRecordsError:
    return TokenRecordsError(
        f"{path} {what}, so every token of a team is refused",
        "Restore the file from a backup. Without a backup, `classifeed token reset` begins an empty list, and each "
        "team needs a new token.",
    )


def _write(directory: Path, records: Sequence[TeamToken]) -> None:
    write_token_records(directory, [asdict(record) for record in records])
