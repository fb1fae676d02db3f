"""Keys of an installation that `up` does not run."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from classifeed_cli.main import run
from classifeed_cli.platform.planning.service_table import ServiceTable
from classifeed_common.auth import KeyStore
from classifeed_common.auth.encryption import CredentialCipher

SERVICES = ServiceTable.load().services


def unpack(secrets: list[dict[str, Any]], folder: Path) -> dict[str, Path]:
    """Write each Secret into a folder as a pod sees it; return the folders by their Secrets' names."""
    folders = {}
    for secret in secrets:
        name = secret["metadata"]["name"]
        folders[name] = folder / name
        folders[name].mkdir()
        for file, content in secret["data"].items():
            (folders[name] / file).write_bytes(base64.b64decode(content, validate=True))
    return folders


def test_secrets_let_each_service_call_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "init", "--format", "k8s-secret"]) == 0
    secrets = list(yaml.safe_load_all(capsys.readouterr().out))
    assert {(each["apiVersion"], each["kind"]) for each in secrets} == {("v1", "Secret")}
    folders = unpack(secrets, tmp_path)
    callers = (*SERVICES, "operator")
    assert set(folders) == {f"classifeed-keys-{caller}" for caller in callers}
    for caller in callers:
        token = KeyStore(folders[f"classifeed-keys-{caller}"]).issue(caller, tuple(SERVICES), 60)
        for service in SERVICES:
            assert KeyStore(folders[f"classifeed-keys-{service}"]).verify(token, service).caller == caller
    own = {name: [path.name for path in folder.glob("*.pem")] for name, folder in folders.items()}
    assert own == {f"classifeed-keys-{caller}": [f"{caller}.pem"] for caller in callers}, "a private key is one's own"


def test_credentials_that_the_api_encrypts_the_loader_decrypts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["keys", "init", "--format", "k8s-secret", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["apiVersion"], document["kind"]) == ("v1", "List"), "kubectl takes it as it is"
    folders = unpack(document["items"], tmp_path)
    having = {name for name, folder in folders.items() if (folder / "seal.keys").exists()}
    assert having == {f"classifeed-keys-{name}" for name, service in SERVICES.items() if service.secrets}
    api, loader = (
        CredentialCipher.load(folders[f"classifeed-keys-{name}"] / "seal.keys") for name in ("api", "loader")
    )
    assert loader.decrypt(api.encrypt(b"password", "feed"), "feed") == b"password"


def test_files_are_private_and_sign_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "keys"
    assert run(["keys", "init", "--format", "files", "--to", str(folder), "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert {Path(file).name for file in files} == {f"{name}.pem" for name in (*SERVICES, "operator")} | {
        "jwks.json",
        "seal.keys",
        "tokens.json",
    }
    assert {stat.S_IMODE(Path(file).stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert run(["token", "create", "--for", "shop", "--all-sellers", "--may", "read", "--keys", str(folder)]) == 0


@pytest.mark.parametrize("kind", ["files", "k8s-secret"])
def test_keys_are_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    folder = tmp_path / "keys"
    assert run(["keys", "init", "--format", kind, "--to", str(folder)]) == 0
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    assert run(["keys", "init", "--format", kind, "--to", str(folder), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["reason"] == "FILE_EXISTS"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


def test_files_need_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "init", "--format", "files"]) == 2
    assert "--to" in capsys.readouterr().err
