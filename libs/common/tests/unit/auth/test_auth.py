from __future__ import annotations

import json
import stat
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from classifeed_common.auth import KeyStore, Policy, rotate_key, write_keys
from classifeed_common.errors import PermissionDenied, Unauthenticated
from classifeed_domain.policy import POLICY


class Now:
    def __init__(self) -> None:
        self.value = 1_800_000_000.0

    def __call__(self) -> float:
        return self.value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_keys(tmp_path / "keys", ["api", "offers"])
    return tmp_path / "keys"


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def store(folder: Path, now: Now) -> KeyStore:
    return KeyStore(folder, now=now)


def reason_of(store: KeyStore, token: str, audience: str = "offers") -> str:
    with pytest.raises(Unauthenticated) as refused:
        store.verify(token, audience)
    return refused.value.reason


def forge(folder: Path, signer: str, **changed: object) -> str:
    """Return a token signed with a real key of `signer`, with changed claims."""
    claims = {"iss": signer, "sub": signer, "aud": "offers", "exp": 1_800_000_060, "jti": "1"} | changed
    published = json.loads((folder / "jwks.json").read_text())["keys"]
    kid = next(key["kid"] for key in published if key["owner"] == signer)
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(kept, (folder / f"{signer}.pem").read_bytes(), algorithm="EdDSA", headers={"kid": kid})


def test_a_token_says_who_calls_whom(store: KeyStore) -> None:
    token = store.verify(store.issue("api", "offers"), "offers")
    assert (token.caller, token.audiences) == ("api", frozenset({"offers"}))


def test_files_are_for_their_owner_only(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {
        "jwks.json": 0o600,
        "api.pem": 0o600,
        "offers.pem": 0o600,
    }


def test_writing_keys_again_keeps_them_and_adds_new_callers(folder: Path) -> None:
    before = (folder / "api.pem").read_bytes()
    write_keys(folder, ["api", "receiver"])
    assert (folder / "api.pem").read_bytes() == before
    owners = [key["owner"] for key in json.loads((folder / "jwks.json").read_text())["keys"]]
    assert sorted(owners) == ["api", "offers", "receiver"]


def test_a_caller_cannot_be_a_path(folder: Path) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a caller"):
        write_keys(folder, ["../api"])


def test_a_token_is_used_again_for_half_its_life(store: KeyStore, now: Now) -> None:
    first = store.issue("api", "offers", 100)
    now.value += 49
    assert store.issue("api", "offers", 100) == first
    now.value += 2
    assert store.issue("api", "offers", 100) != first
    assert store.issue("api", "receiver", 100) != store.issue("api", "offers", 100)


def test_an_expired_token_is_refused_even_when_it_was_verified_before(store: KeyStore, now: Now) -> None:
    token = store.issue("api", "offers", 60)
    store.verify(token, "offers")
    now.value += 66
    assert reason_of(store, token) == "TICKET_EXPIRED"


def test_a_token_for_another_is_refused_even_when_that_one_verified_it(store: KeyStore) -> None:
    token = store.issue("api", "receiver")
    store.verify(token, "receiver")
    assert reason_of(store, token, "offers") == "TICKET_FOR_ANOTHER"


def test_a_key_signs_for_its_owner_only(store: KeyStore, folder: Path) -> None:
    assert reason_of(store, forge(folder, "api", sub="operator")) == "TICKET_KEY_OF_ANOTHER"
    assert reason_of(store, forge(folder, "api", iss="operator", sub="operator")) == "TICKET_KEY_OF_ANOTHER"


@pytest.mark.parametrize("claim", ["iss", "sub", "aud", "exp", "jti"])
def test_no_claim_may_be_missing(store: KeyStore, folder: Path, claim: str) -> None:
    assert reason_of(store, forge(folder, "api", **{claim: None})) == "TICKET_INVALID"


def test_a_token_that_lives_for_ever_is_refused(store: KeyStore, folder: Path) -> None:
    assert reason_of(store, forge(folder, "api", exp=1_900_000_000)) == "TICKET_TOO_LONG"


def test_token_of_a_tool_is_good_for_those_it_names_and_no_others(store: KeyStore, folder: Path) -> None:
    token = store.issue("api", ("offers", "receiver"))
    assert store.verify(token, "offers").audiences == store.verify(token, "receiver").audiences
    assert reason_of(store, token, "searcher") == "TICKET_FOR_ANOTHER"
    assert reason_of(store, forge(folder, "api", aud=["offers", 1])) == "TICKET_INVALID"
    assert reason_of(store, forge(folder, "api", aud={"offers": True})) == "TICKET_INVALID"


def test_foreign_and_tampered_tokens_are_refused(store: KeyStore, folder: Path) -> None:
    stranger = Ed25519PrivateKey.generate()
    claims = {"iss": "api", "sub": "api", "aud": "offers", "exp": 1_800_000_060, "jti": "1"}
    assert (
        reason_of(store, jwt.encode(claims, stranger, algorithm="EdDSA", headers={"kid": "?"})) == "TICKET_KEY_UNKNOWN"
    )
    kid = jwt.get_unverified_header(forge(folder, "api"))["kid"]
    assert reason_of(store, jwt.encode(claims, stranger, algorithm="EdDSA", headers={"kid": kid})) == "TICKET_INVALID"
    unsigned = jwt.encode(claims, "", algorithm="none", headers={"kid": kid})
    assert reason_of(store, unsigned) == "TICKET_INVALID"
    assert reason_of(store, "not a token") == "TICKET_INVALID"


def test_a_rotated_key_is_used_at_once_and_old_tokens_stay_valid(store: KeyStore, folder: Path) -> None:
    old = store.issue("api", "offers")
    store.verify(old, "offers")
    rotate_key(folder, "api")
    new = store.issue("api", "offers")
    assert jwt.get_unverified_header(new)["kid"] != jwt.get_unverified_header(old)["kid"]
    assert store.verify(new, "offers").caller == store.verify(old, "offers").caller == "api"


def test_a_withdrawn_key_is_refused_at_once_although_its_token_was_verified(store: KeyStore, folder: Path) -> None:
    leaked = store.issue("api", "offers")
    store.verify(leaked, "offers")
    rotate_key(folder, "api", keep=0)
    assert reason_of(store, leaked) == "TICKET_KEY_UNKNOWN"


def test_who_has_no_key_cannot_call(store: KeyStore) -> None:
    with pytest.raises(Unauthenticated) as refused:
        store.issue("stranger", "offers")
    assert refused.value.reason == "CALLER_HAS_NO_KEY"


def test_the_policy_refuses_whoever_and_whatever_is_not_listed() -> None:
    policy = Policy({"/a.S/M": frozenset({"api"})})
    policy.check("/a.S/M", "api")
    with pytest.raises(PermissionDenied, match="CALLER_NOT_ALLOWED"):
        policy.check("/a.S/M", "offers")
    with pytest.raises(PermissionDenied, match="METHOD_NOT_IN_POLICY"):
        policy.check("/a.S/Other", "api")


def test_the_stand_in_may_do_what_services_may_and_no_more() -> None:
    policy = POLICY
    policy.check("/classifeed.documents.v1.ReceiverService/PushBatch", "service")
    with pytest.raises(PermissionDenied, match="CALLER_NOT_ALLOWED"):
        policy.check("/classifeed.feeds.v1.FeedService/UploadFeed", "service")


def test_only_standard_health_and_reflection_are_open() -> None:
    assert Policy.is_open("/grpc.health.v1.Health/Check")
    assert Policy.is_open("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
    assert not Policy.is_open("/grpc.health.v1.HealthX/Check")
    assert not Policy.is_open("/classifeed.offers.v1.OfferService/GetOffer")
