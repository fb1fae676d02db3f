"""Team tokens: for named methods only, until they expire or are revoked."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import jwt
import pytest

from classifeed_common.auth import (
    KeyStore,
    TokenRecordsError,
    bind_team_token,
    create_team_token,
    list_team_tokens,
    reset_token_records,
    revoke_team_token,
    rotate_key,
    write_keys,
)
from classifeed_common.auth.policy import OPERATOR
from classifeed_common.auth.team_tokens import MAX_TEAM_TTL_S, expand_methods
from classifeed_common.contracts import list_services
from classifeed_common.errors import PermissionDenied, Unauthenticated
from classifeed_domain.policy import CALLERS, POLICY, SERVED_BY

NOW = 1_800_000_000.0
DAY_S = 86_400.0
FEEDS = "/classifeed.feeds.v1.FeedService/"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_keys(tmp_path / "keys", ["api", "offers", OPERATOR])
    return tmp_path / "keys"


def store_at(folder: Path, now_s: float = NOW) -> KeyStore:
    return KeyStore(folder, now=lambda: now_s)


def reason_of(store: KeyStore, token: str, audience: str = "api") -> str:
    with pytest.raises(Unauthenticated) as refused:
        store.verify(token, audience)
    return refused.value.reason


def forge(folder: Path, signer: str, **changed: object) -> str:
    """Return a token that the list has as good, with any claims."""
    listed = {"token_id": "1", "team": "shop", "may": [], "created_at": int(NOW), "expires_at": int(NOW + 60)}
    (folder / "tokens.json").write_text(json.dumps({"tokens": [listed]}))
    claims = {
        "iss": signer,
        "sub": "team:shop",
        "aud": ["api"],
        "may": {"classifeed.feeds.v1.FeedService": ["GetTask"]},
        "exp": int(NOW + 60),
        "jti": "1",
    }
    published = json.loads((folder / "jwks.json").read_text())["keys"]
    kid = next(key["kid"] for key in published if key["owner"] == signer)
    private = (folder / f"{signer}.pem").read_bytes()
    return jwt.encode({**claims, **changed}, private, algorithm="EdDSA", headers={"kid": kid})


def test_a_token_is_for_its_methods_and_for_the_services_that_have_them(folder: Path) -> None:
    token, record = create_team_token(
        folder, "shop", ["FeedService/GetTask", "SearchService/*"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY
    )
    store = store_at(folder)
    verified = store.verify(token, "searcher")
    assert (verified.caller, verified.audiences, verified.may) == (
        "team:shop",
        frozenset({"api", "searcher"}),
        frozenset(record.may),
    )
    policy = POLICY
    policy.check(FEEDS + "GetTask", verified.caller, verified.may)
    with pytest.raises(PermissionDenied) as refused:
        policy.check(FEEDS + "DeleteFeed", verified.caller, verified.may)
    assert refused.value.reason == "METHOD_NOT_GRANTED"
    assert reason_of(store, token, "offers") == "TICKET_FOR_ANOTHER"


def test_no_token_goes_past_what_the_operator_may(folder: Path) -> None:
    """Nor does one that was signed before the table removed a method of the operator."""
    of_services = next(method for method, callers in CALLERS.items() if OPERATOR not in callers)
    service, _, name = of_services.removeprefix("/").partition("/")
    verified = store_at(folder).verify(forge(folder, OPERATOR, may={service: [name]}), "api")
    with pytest.raises(PermissionDenied):
        POLICY.check(of_services, verified.caller, verified.may)
    with pytest.raises(ValueError, match="names no method that a team may call"):
        expand_methods([f"{service}/{name}"], POLICY)


@pytest.mark.parametrize("changed", [{"sub": "api"}, {"iss": "api"}, {"sub": "team:shop", "iss": "offers"}])
def test_the_operator_signs_for_teams_and_for_nobody_else(folder: Path, changed: dict[str, str]) -> None:
    assert reason_of(store_at(folder), forge(folder, OPERATOR, **changed)) == "TICKET_KEY_OF_ANOTHER"


def test_no_service_signs_for_a_team(folder: Path) -> None:
    assert reason_of(store_at(folder), forge(folder, "api")) == "TICKET_KEY_OF_ANOTHER"


@pytest.mark.parametrize("may", [None, [], "FeedService/GetTask", {}])
def test_a_token_without_methods_may_do_nothing(folder: Path, may: object) -> None:
    verified = store_at(folder).verify(forge(folder, OPERATOR, may=may), "api")
    with pytest.raises(PermissionDenied):
        POLICY.check(FEEDS + "GetTask", verified.caller, verified.may)


def test_a_token_expires_and_none_is_for_ever(folder: Path) -> None:
    token, _ = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    assert store_at(folder, NOW + DAY_S - 1).verify(token, "api")
    assert reason_of(store_at(folder, NOW + DAY_S + 10), token) == "TICKET_EXPIRED"
    assert reason_of(store_at(folder), forge(folder, OPERATOR, exp=int(NOW + 2 * MAX_TEAM_TTL_S))) == "TICKET_TOO_LONG"
    with pytest.raises(ValueError, match="366 days"):
        create_team_token(folder, "shop", ["read"], MAX_TEAM_TTL_S + 1, owners=["*"], policy=POLICY)


def test_a_withdrawn_token_is_refused_by_services_that_have_seen_it(folder: Path) -> None:
    store = store_at(folder)
    token, record = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    other, _ = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    assert store.verify(token, "api")
    revoked = revoke_team_token(folder, record.token_id, now_s=NOW + 5)
    assert revoke_team_token(folder, record.token_id, now_s=NOW + 9) == revoked
    assert reason_of(store, token) == "TOKEN_REVOKED"
    assert store.verify(other, "api")
    with pytest.raises(LookupError):
        revoke_team_token(folder, "nobody's")


def test_withdrawing_the_operators_key_withdraws_the_tokens_signed_with_it(folder: Path) -> None:
    token, _ = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    rotate_key(folder, OPERATOR)
    assert store_at(folder).verify(token, "api")
    rotate_key(folder, OPERATOR, keep=0)
    assert reason_of(store_at(folder), token) == "TICKET_KEY_UNKNOWN"


def test_the_record_is_kept_and_the_token_is_not(folder: Path) -> None:
    token, record = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    path = folder / "tokens.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token.rpartition(".")[2] not in path.read_text()
    assert list_team_tokens(folder) == [record]


def test_read_is_what_changes_nothing() -> None:
    methods = expand_methods(["read"], POLICY)
    assert {FEEDS + "GetTask", FEEDS + "WatchTask"} <= set(methods)
    assert FEEDS + "UploadFeed" not in methods
    assert expand_methods(["classifeed.feeds.v1.FeedService/GetTask"], POLICY) == (FEEDS + "GetTask",)


@pytest.mark.parametrize("team", ["", "Shop", "a b", "operator/x", "x" * 64])
def test_names_of_teams(folder: Path, team: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a team"):
        create_team_token(folder, team, ["read"], DAY_S, owners=["*"], policy=POLICY)


def test_the_services_behind_each_grpc_service_are_known() -> None:
    assert set(SERVED_BY) == {service.full_name for service in list_services()}


def test_a_token_is_good_only_while_the_file_lists_it(folder: Path) -> None:
    """A list that is restored, created again or shortened revives no token."""
    token, record = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    revoke_team_token(folder, record.token_id, now_s=NOW)
    store = store_at(folder)
    assert reason_of(store, token) == "TOKEN_REVOKED"
    former = reset_token_records(folder)
    assert former is not None
    assert reason_of(store, token) == "TOKEN_UNKNOWN"
    other, _ = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    assert store.verify(other, "api")
    assert reason_of(store, token) == "TOKEN_UNKNOWN"
    former.replace(folder / "tokens.json")
    assert reason_of(store, token) == "TOKEN_REVOKED"
    assert reason_of(store, other) == "TOKEN_UNKNOWN"


DAMAGED = ["", "{", "[]", "null", '{"tokens": null}', '{"tokens": [1]}', '{"tokens": [{"may": []}]}', "\x00", "{}"]


@pytest.mark.parametrize("content", [None, *DAMAGED])
def test_without_a_list_every_token_of_a_team_is_refused_and_those_of_services_are_not(
    folder: Path, content: str | None
) -> None:
    revoked, record = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    good, _ = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    revoke_team_token(folder, record.token_id, now_s=NOW)
    running = store_at(folder)
    assert running.verify(good, "api")
    path = folder / "tokens.json"
    before = path.read_text()
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    for store in (running, store_at(folder)):
        for token in (good, revoked):
            assert reason_of(store, token) == "TOKENS_UNREADABLE"
        assert store.verify(store.issue("offers", "api"), "api")
        fault = store.faults["team tokens"]
        assert str(path) in fault
        assert "classifeed token reset" in fault
    for act in (
        lambda: create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY),
        lambda: revoke_team_token(folder, record.token_id),
        lambda: list_team_tokens(folder),
    ):
        with pytest.raises(TokenRecordsError):
            act()
    write_keys(folder, ["api", "offers", OPERATOR, "searcher"])  # as each start does
    assert reason_of(running, good) == "TOKENS_UNREADABLE"
    path.write_text(before)
    assert running.verify(good, "api")
    assert reason_of(running, revoked) == "TOKEN_REVOKED"
    assert running.faults == {}


def test_a_file_that_cannot_be_read_is_read_once_it_can(folder: Path) -> None:
    token, _ = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    path = folder / "tokens.json"
    kept = path.rename(folder / "kept")
    path.mkdir()  # root reads any file
    store = store_at(folder)
    assert reason_of(store, token) == "TOKENS_UNREADABLE"
    path.rmdir()
    kept.rename(path)
    assert store.verify(token, "api")


def test_keys_of_a_service_without_any_token_lack_nothing(folder: Path) -> None:
    """Once a team sends a token, the operator must have made one, so the missing list is a fault."""
    token, _ = create_team_token(folder, "shop", ["read"], DAY_S, now_s=NOW, owners=["*"], policy=POLICY)
    (folder / "tokens.json").unlink()
    store = store_at(folder)
    assert store.faults == {}
    assert reason_of(store, token) == "TOKENS_UNREADABLE"
    assert "team tokens" in store.faults


@pytest.mark.parametrize("content", [None, "", "{", '{"keys": [{}]}', "[]"])
def test_without_public_keys_every_call_is_refused_and_it_is_named(folder: Path, content: str | None) -> None:
    store = store_at(folder)
    token = store.issue("offers", "api")
    assert store.verify(token, "api")
    path = folder / "jwks.json"
    before = path.read_text()
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    assert reason_of(store, token) == "TICKET_KEY_UNKNOWN"
    assert str(path) in store.faults["tokens"]
    path.write_text(before)
    assert store.verify(token, "api")
    assert store.faults == {}


def test_public_keys_that_are_missing_are_made_from_the_private_ones(folder: Path) -> None:
    store = store_at(folder)
    token = store.issue("offers", "api")
    (folder / "jwks.json").unlink()
    write_keys(folder, ["api", "offers", OPERATOR])
    assert store.verify(token, "api")
    assert store.verify(store.issue("api", "offers"), "offers")


def test_a_list_of_tokens_is_made_with_the_operators_first_key_only(tmp_path: Path) -> None:
    write_keys(tmp_path, ["api"])
    assert not (tmp_path / "tokens.json").exists()
    write_keys(tmp_path, ["api", OPERATOR])
    assert list_team_tokens(tmp_path) == []
    (tmp_path / "tokens.json").unlink()
    (tmp_path / f"{OPERATOR}.pem").unlink()
    write_keys(tmp_path, ["api", OPERATOR])
    assert not (tmp_path / "tokens.json").exists()


def test_a_token_says_whose_data_it_reaches(folder: Path) -> None:
    token, record = create_team_token(
        folder, "shop", ["FeedService/GetTask"], DAY_S, owners=["b", "a", "b"], now_s=NOW, policy=POLICY
    )
    assert record.owners == ("a", "b")
    assert list_team_tokens(folder) == [record]
    assert store_at(folder).verify(token, "api").owners == frozenset({"a", "b"})
    with pytest.raises(ValueError, match="create a new one"):
        bind_team_token(folder, record.token_id, ["c"])


@pytest.mark.parametrize("owners", [[], [""], ["a", ""], ["*", "a"], [str(number) for number in range(101)]])
def test_a_token_is_for_some_owners_or_for_all(folder: Path, owners: list[str]) -> None:
    with pytest.raises(ValueError, match="1 to 100 sellers, or for all"):
        create_team_token(folder, "shop", ["read"], DAY_S, owners=owners, policy=POLICY)


def test_a_token_of_before_is_refused_until_it_is_bound(folder: Path) -> None:
    token = forge(folder, OPERATOR)
    store, method = store_at(folder), FEEDS + "GetTask"
    verified = store.verify(token, "api")
    assert verified.owners == frozenset()
    with pytest.raises(PermissionDenied) as refused:
        POLICY.guard(method, verified.caller, verified.owners)
    assert refused.value.reason == "TOKEN_WITHOUT_SELLERS"
    assert bind_team_token(folder, "1", ["a"]).owners == ("a",)
    assert store.verify(token, "api").owners == frozenset({"a"})
    with pytest.raises(LookupError):
        bind_team_token(folder, "nobody's", ["a"])


@pytest.mark.parametrize("claim", ["*", "a", {"a": 1}, [1], [None], 1, None, [""]])
def test_a_claim_of_another_form_names_nobody(folder: Path, claim: object) -> None:
    assert store_at(folder).verify(forge(folder, OPERATOR, owners=claim), "api").owners == frozenset()


def test_the_version_before_reads_the_list(folder: Path) -> None:
    """It builds records from the members of the entries, and accepts no further ones."""
    create_team_token(folder, "shop", ["read"], DAY_S, owners=["a"], now_s=NOW, policy=POLICY)
    [entry] = json.loads((folder / "tokens.json").read_text())["tokens"]
    assert set(entry) == {"token_id", "team", "may", "created_at", "expires_at", "revoked_at"}
