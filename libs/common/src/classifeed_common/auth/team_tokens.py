"""Team tokens: signed by the operator, for named methods only, valid until they expire or are revoked.

A team token is a JWT whose `iss` is the operator and whose `sub` is `team:<name>`; `may` lists methods by service. The
folder of keys has a record of each token (never the token) in `tokens.json`, which the services read again when it
changes. A token is accepted only while this file lists it as good. If the file is missing or damaged, every team token
is refused (ADR 0097).
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
from classifeed_common.auth.owners import ALL_OWNERS
from classifeed_common.auth.policy import OPERATOR, Policy
from classifeed_common.contracts import list_methods

TEAM_PREFIX: Final = "team:"
MAX_TEAM_TTL_S: Final = 366 * 86_400.0
READ: Final = "read"
_MAX_OWNERS: Final = 100
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
    """The record of a token.

    Attributes:
        token_id: id by which the token is revoked.
        team: name of the team.
        may: full methods that it may call, such as /classifeed.feeds.v1.FeedService/GetTask, sorted.
        created_at: seconds since 1970.
        expires_at: seconds since 1970.
        revoked_at: seconds since 1970; None: not revoked.
        owners: owners whose data it may reach, sorted; ALL_OWNERS: any. Empty: the token is older than this field and
            is refused until `bind_team_token` names its owners.
    """

    token_id: str
    team: str
    may: tuple[str, ...]
    created_at: int
    expires_at: int
    revoked_at: int | None = None
    owners: tuple[str, ...] = ()


def create_team_token(
    directory: Path,
    team: str,
    may: Sequence[str],
    ttl_s: float,
    *,
    owners: Iterable[str],
    policy: Policy,
    now_s: float | None = None,
) -> tuple[str, TeamToken]:
    """Return a new token and its record; only the record is stored.

    Args:
        directory: folder of keys, with the operator's private key.
        team: name of small letters, digits, `_` and `-`, at most 63 characters.
        may: method patterns, see `expand_methods`.
        ttl_s: lifetime in seconds, at most 366 days.
        owners: owners whose data it may reach, at most 100; ALL_OWNERS alone: any.
        policy: methods of the operator, and the services that implement them.
        now_s: time of creation, in seconds since 1970; None: now.

    Raises:
        ValueError: the name, a method, the lifetime or the owners are invalid; the message says which.
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
    reached = _checked_owners(owners)
    methods = expand_methods(may, policy, for_all=reached == (ALL_OWNERS,))
    now = int(time.time() if now_s is None else now_s)
    record = TeamToken(uuid4().hex, team, methods, now, now + int(ttl_s), owners=reached)
    kid, key = read_private_key(directory, OPERATOR)
    claims = {
        "iss": OPERATOR,
        "sub": TEAM_PREFIX + team,
        "aud": sorted({host for method in methods for host in policy.services_of(_service_of(method))}),
        "may": _by_service(methods),
        "owners": list(reached),
        "iat": record.created_at,
        "exp": record.expires_at,
        "jti": record.token_id,
    }
    _write(directory, [*list_team_tokens(directory), record])
    return jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": kid}), record


def list_team_tokens(directory: Path) -> list[TeamToken]:
    """Return the records of all tokens made in a folder, oldest first.

    Raises:
        TokenRecordsError: the file of records is missing, cannot be read, or is damaged.
    """
    path = directory / RECORDS_FILE
    try:
        document = json.loads(path.read_text())
        # Owners have their own member: the previous version accepts no further member of an entry.
        owners = document.get("owners", {})
        return [
            TeamToken(**{**entry, "may": tuple(entry["may"])}, owners=tuple(owners.get(entry["token_id"], ())))
            for entry in document["tokens"]
        ]
    except FileNotFoundError as error:
        raise _unreadable(path, "is missing") from error
    except OSError as error:
        raise _unreadable(path, f"cannot be read ({error.strerror})") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unreadable(path, "is damaged") from error


def reset_token_records(directory: Path) -> Path | None:
    """Start an empty list of tokens: every older token is refused from then on.

    Returns:
        Path of the former file; None: there was none.
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
    """Revoke a token, and return its record. Idempotent.

    Raises:
        LookupError: the token does not exist.
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


def bind_team_token(directory: Path, token_id: str, owners: Iterable[str]) -> TeamToken:
    """Set the owners of a token that was created before tokens had owners, and return its record.

    Raises:
        LookupError: the token does not exist.
        ValueError: the token has owners, or the given ones are invalid; the message says which.
        TokenRecordsError: the file of records is missing or damaged.
    """
    reached = _checked_owners(owners)
    records = list_team_tokens(directory)
    for number, record in enumerate(records):
        if record.token_id == token_id:
            if record.owners:
                raise ValueError(f"token {token_id} is for {', '.join(record.owners)}: create a new one for others")
            records[number] = replace(record, owners=reached)
            _write(directory, records)
            return records[number]
    raise LookupError(f"there is no token {token_id}")


def expand_methods(patterns: Iterable[str], policy: Policy, *, for_all: bool = True) -> tuple[str, ...]:
    """Return the full methods that patterns name, sorted.

    A pattern is `FeedService/GetTask`, `FeedService/*`, either of them with the package in front, or `read`: all
    methods without side effects. Only methods of the operator can be granted. A token does not include methods that a
    service adds later.

    Args:
        patterns: see above.
        policy: methods of the operator.
        for_all: whether the token is for all owners; if not, methods that need such a token are left out.

    Raises:
        ValueError: a pattern matches no method that can be granted, or there is no pattern.
    """
    known = {
        method: descriptor
        for method, descriptor in list_methods()
        if OPERATOR in policy.callers_of(method) and (for_all or not policy.owner_rules.is_for_all_only(method))
    }
    found: set[str] = set()
    for pattern in patterns:
        if pattern == READ:
            named = {method for method, descriptor in known.items() if _only_reads(descriptor)}
        else:
            named = {method for method in known if _fits(method, pattern)}
        if not named:
            services = ", ".join(sorted({_service_of(method).rpartition(".")[2] for method in known}))
            whose = "" if for_all else ", unless its token is for all sellers"
            raise ValueError(
                f"{pattern!r} names no method that a team may call{whose}. Write read, SERVICE/METHOD or SERVICE/*, "
                f"with a service of {services}"
            )
        found |= named
    if not found:
        raise ValueError("a token must name at least one method")
    return tuple(sorted(found))


def _only_reads(method: MethodDescriptor) -> bool:
    # A watch is a read without an end. Its idempotency level cannot be declared any more: contracts do not change.
    level = method.GetOptions().idempotency_level
    return level == MethodOptions.NO_SIDE_EFFECTS or (method.server_streaming and method.name.startswith("Watch"))


def methods_of(claim: object) -> frozenset[str]:
    """Return the full methods in the claim `may` of a token; none if the claim has another form."""
    if not isinstance(claim, dict):
        return frozenset()
    return frozenset(f"/{service}/{name}" for service, names in claim.items() for name in names)


def owners_of(claim: object) -> frozenset[str]:
    """Return the owners in the claim `owners` of a token; none if the claim has another form."""
    if not isinstance(claim, list):
        return frozenset()
    return frozenset(each for each in claim if isinstance(each, str) and each)


def _checked_owners(owners: Iterable[str]) -> tuple[str, ...]:
    reached = tuple(sorted(set(owners)))
    if not 1 <= len(reached) <= _MAX_OWNERS or "" in reached or (ALL_OWNERS in reached and len(reached) > 1):
        raise ValueError(f"a token is for 1 to {_MAX_OWNERS} sellers, or for all")
    return reached


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
    entries = [asdict(record) for record in records]
    owners = {entry["token_id"]: entry.pop("owners") for entry in entries}
    write_token_records(directory, entries, {token_id: each for token_id, each in owners.items() if each})
