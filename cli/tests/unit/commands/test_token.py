"""Commands for tokens of other teams, with their output for people and programs."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from classifeed_cli.main import run
from classifeed_common.auth import KeyStore, list_team_tokens, write_keys
from classifeed_common.errors import Unauthenticated
from classifeed_domain.policy import SELLER_METHODS

METHOD = "/classifeed.feeds.v1.FeedService/UploadFeed"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    write_keys(tmp_path / "keys", ["operator"])
    return tmp_path / "keys"


def test_a_token_is_made_listed_and_withdrawn(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create = [
        "token",
        "create",
        "--for",
        "shop",
        "--may",
        "FeedService/UploadFeed",
        "--ttl",
        "12h",
        "--seller",
        "my-shop",
        "--keys",
        str(keys),
    ]
    assert run(create) == 0
    printed, message = capsys.readouterr()
    token = KeyStore(keys).verify(printed.strip(), "api")
    assert (token.caller, token.may) == ("team:shop", frozenset({METHOD}))
    assert "classifeed token revoke" in message.replace("\n", " ")

    assert run(["token", "list", "--keys", str(keys), "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)["tokens"]
    assert (record["team"], record["may"], record["revoke_time"]) == ("shop", [METHOD], None)

    assert run(["token", "revoke", record["token_id"], "--keys", str(keys)]) == 0
    assert run(["token", "list", "--keys", str(keys)]) == 0
    assert "withdrawn" in capsys.readouterr().out


def test_a_token_in_a_file_is_not_printed(keys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shop.token"
    assert (
        run(
            [
                "token",
                "create",
                "--for",
                "shop",
                "--all-sellers",
                "--may",
                "read",
                "--out",
                str(file),
                "--keys",
                str(keys),
            ]
        )
        == 0
    )
    assert capsys.readouterr().out == ""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KeyStore(keys).verify(file.read_text(), "searcher").caller == "team:shop"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--for", "shop", "--may", "FeedService/Nothing"], "names no method that a team may call"),
        (["--for", "shop", "--may", "ReceiverService/*"], "names no method that a team may call"),
        (["--for", "The Shop", "--all-sellers", "--may", "read"], "cannot be the name of a team"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    keys: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert run(["token", "create", "--all-sellers", *options, "--keys", str(keys)]) == 1
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_folder_without_keys_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["token", "create", "--for", "shop", "--all-sellers", "--may", "read", "--keys", str(tmp_path)]) == 1
    assert "operator.pem" in capsys.readouterr().err


def test_a_lost_list_is_said_and_begun_again_on_request_only(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create = ["token", "create", "--for", "shop", "--all-sellers", "--may", "read", "--keys", str(keys)]
    assert run(create) == 0
    token = capsys.readouterr().out.strip()
    path = keys / "tokens.json"
    path.write_text("{")
    for command in (create, ["token", "list", "--keys", str(keys)], ["token", "revoke", "1", "--keys", str(keys)]):
        assert run(command) != 0
        said = capsys.readouterr().err.replace("\n", " ")
        assert "tokens.json is damaged" in said
        assert "classifeed token reset" in said
    assert run(["token", "reset", "--keys", str(keys), "--json"]) == 0
    assert Path(json.loads(capsys.readouterr().out)["former"]).read_text() == "{"
    assert run(create) == 0
    assert KeyStore(keys).verify(capsys.readouterr().out.strip(), "api")
    with pytest.raises(Unauthenticated):
        KeyStore(keys).verify(token, "api")


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--seller", "a", "--all-sellers"],
        ["--seller", "a/b"],
        ["--seller", "*"],
        ["--seller", "-"],
        ["--seller", ","],
    ],
)
def test_a_token_without_its_sellers_is_not_created(
    keys: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert run(["token", "create", "--for", "shop", "--may", "read", *options, "--keys", str(keys)]) == 1
    assert "seller" in capsys.readouterr().err
    assert list_team_tokens(keys) == []


def test_a_shop_gets_what_its_program_calls(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create = ["token", "create", "--for", "shop", "--may", "seller", "--seller", "a,b", "--keys", str(keys), "--json"]
    assert run(create) == 0
    created = json.loads(capsys.readouterr().out)
    assert (created["sellers"], created["all_sellers"]) == (["a", "b"], False)
    assert set(created["may"]) == set(SELLER_METHODS)


def test_a_token_of_before_gets_its_sellers(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["token", "create", "--for", "shop", "--may", "read", "--all-sellers", "--keys", str(keys)]) == 0
    [record] = list_team_tokens(keys)
    path = keys / "tokens.json"
    path.write_text(json.dumps({"tokens": json.loads(path.read_text())["tokens"]}))
    assert run(["token", "list", "--keys", str(keys)]) == 0
    assert "refused" in capsys.readouterr().out
    assert run(["token", "bind", record.token_id, "--seller", "a", "--keys", str(keys)]) == 0
    assert list_team_tokens(keys)[0].owners == ("a",)
    assert run(["token", "bind", record.token_id, "--seller", "b", "--keys", str(keys)]) == 1
    assert run(["token", "bind", "nobody", "--seller", "b", "--keys", str(keys)]) == 1
