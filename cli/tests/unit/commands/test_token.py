"""Tokens of other teams on a terminal and for programs."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from classifeed_cli.main import run
from classifeed_common.auth import KeyStore, write_keys
from classifeed_common.errors import Unauthenticated

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
    assert run(["token", "create", "--for", "shop", "--may", "read", "--out", str(file), "--keys", str(keys)]) == 0
    assert capsys.readouterr().out == ""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KeyStore(keys).verify(file.read_text(), "searcher").caller == "team:shop"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--for", "shop", "--may", "FeedService/Nothing"], "names no method that a team may call"),
        (["--for", "shop", "--may", "ReceiverService/*"], "names no method that a team may call"),
        (["--for", "The Shop", "--may", "read"], "cannot be the name of a team"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    keys: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert run(["token", "create", *options, "--keys", str(keys)]) == 1
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_folder_without_keys_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["token", "create", "--for", "shop", "--may", "read", "--keys", str(tmp_path)]) == 1
    assert "operator.pem" in capsys.readouterr().err


def test_a_lost_list_is_said_and_begun_again_on_request_only(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create = ["token", "create", "--for", "shop", "--may", "read", "--keys", str(keys)]
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
