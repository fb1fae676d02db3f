from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import SettingsConfigDict

from classifeed_common.settings import TARGET, ServiceSettings, describe_settings, load_settings


class ShopSettings(ServiceSettings):
    model_config = SettingsConfigDict(env_prefix="CLASSIFEED_SHOP_", frozen=True)

    receiver_address: str = Field(pattern=TARGET, description="gRPC address of the receiver, host:port.")
    token: SecretStr = Field(default=SecretStr("long enough"), min_length=8, description="Token.")
    batch: int = Field(default=100, ge=1, le=1000, description="Rows a batch.")


@pytest.fixture(autouse=True)
def receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIFEED_SHOP_RECEIVER_ADDRESS", "127.0.0.1:7")


def refused(capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.raises(SystemExit) as end:
        load_settings(ShopSettings)
    assert end.value.code == 2
    return capsys.readouterr().err.splitlines()


def test_values_come_from_the_environment_and_cannot_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIFEED_SHOP_KEYS_DIR", "/keys")
    settings = load_settings(ShopSettings)
    assert (settings.receiver_address, settings.keys_dir) == ("127.0.0.1:7", Path("/keys"))
    with pytest.raises(ValidationError):
        settings.batch = 5  # type: ignore[misc]


def test_a_wrong_value_is_refused_in_one_line_with_variable_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLASSIFEED_SHOP_BATCH", "0")
    (line,) = refused(capsys)
    assert line.startswith("CLASSIFEED_SHOP_BATCH='0' is refused: ")
    assert "greater than or equal to 1" in line
    assert "Rows a batch." in line


def test_every_fault_is_reported_at_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("CLASSIFEED_SHOP_RECEIVER_ADDRESS")
    monkeypatch.setenv("CLASSIFEED_SHOP_LOG_LEVEL", "loud")
    monkeypatch.setenv("CLASSIFEED_SHOP_GRPC_LISTEN", "nowhere")
    lines = refused(capsys)
    assert len(lines) == 3
    assert any(line.startswith("CLASSIFEED_SHOP_RECEIVER_ADDRESS is not set") for line in lines)


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts render unset values as empty strings; Path("") would be the working directory."""
    monkeypatch.setenv("CLASSIFEED_SHOP_KEYS_DIR", "")
    monkeypatch.setenv("CLASSIFEED_SHOP_BATCH", "")
    settings = load_settings(ShopSettings)
    assert settings.keys_dir is None
    assert settings.batch == 100


def test_the_schema_is_named_after_the_service_unless_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings(ShopSettings).db_schema == "shop"
    monkeypatch.setenv("CLASSIFEED_SHOP_DB_SCHEMA", "other")
    assert load_settings(ShopSettings).db_schema == "other"
    assert ShopSettings.service_name() == "shop"


def test_secrets_are_shown_nowhere(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLASSIFEED_SHOP_DSN", "postgresql://shop:hunter2@db/shop")
    monkeypatch.setenv("CLASSIFEED_SHOP_TOKEN", "hunter2")
    (line,) = refused(capsys)
    assert line.startswith("CLASSIFEED_SHOP_TOKEN=*** is refused")
    assert "hunter2" not in line
    monkeypatch.delenv("CLASSIFEED_SHOP_TOKEN")
    settings = load_settings(ShopSettings)
    assert "hunter2" not in repr(settings)
    assert settings.dsn.get_secret_value().endswith("hunter2@db/shop")


def test_help_lists_every_variable_with_its_meaning() -> None:
    text = describe_settings(ShopSettings)
    for name, field in ShopSettings.model_fields.items():
        assert f"CLASSIFEED_SHOP_{name.upper()}  [" in text
        assert field.description
        assert field.description in text
    assert "CLASSIFEED_SHOP_RECEIVER_ADDRESS  [required]" in text


def test_roles_are_a_list_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings(ShopSettings).selected_roles == frozenset()
    monkeypatch.setenv("CLASSIFEED_SHOP_ROLES", "serve, relay,")
    assert load_settings(ShopSettings).selected_roles == {"serve", "relay"}


@pytest.mark.parametrize(
    "target",
    ["127.0.0.1:7", "[::1]:7", "receiver:9090", "dns:receiver:9090", "dns:///shop-receiver:9090", "unix:/tmp/s"],
)
def test_peers_are_found_by_address_or_name(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setenv("CLASSIFEED_SHOP_RECEIVER_ADDRESS", target)
    assert load_settings(ShopSettings).receiver_address == target


@pytest.mark.parametrize("target", ["receiver", "http://receiver:9090", "dns://receiver", "dns:///:9090"])
def test_peers_by_other_addresses_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    monkeypatch.setenv("CLASSIFEED_SHOP_RECEIVER_ADDRESS", target)
    [line] = refused(capsys)
    assert line.startswith(f"CLASSIFEED_SHOP_RECEIVER_ADDRESS='{target}' is refused")


@pytest.mark.parametrize("address", ["dns:///shop-receiver:9090", "receiver"])
def test_a_service_listens_on_no_name_of_dns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    monkeypatch.setenv("CLASSIFEED_SHOP_GRPC_LISTEN", address)
    assert len(refused(capsys)) == 1
