from __future__ import annotations

import base64

import pytest

from classifeed_common.errors import InvalidArgument
from classifeed_common.rpc.paging import read_page_token, read_page_values, write_page_token, write_page_values


@pytest.mark.parametrize("key", ["a", "тест/1", "x" * 256, ">>>???"])
def test_a_token_gives_back_its_key_and_is_safe_in_a_url(key: str) -> None:
    token = write_page_token(key)
    assert read_page_token(token) == key
    assert token.isascii()
    assert not set(token) & set("+/&?#")


def test_no_token_begins_with_the_first_page() -> None:
    assert read_page_token("") == ""


@pytest.mark.parametrize("token", ["a", "YQ", "Y Q==", "/w==", "gQ==", base64.b64encode(b"a\0b").decode()])
def test_what_no_method_gave_out_is_refused_by_its_field(token: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        read_page_token(token)
    assert raised.value.reason == "PAGE_TOKEN_INVALID"
    assert [violation.field for violation in raised.value.violations] == ["page_token"]


def test_a_token_gives_back_its_values_and_none_the_beginning() -> None:
    assert read_page_values(write_page_values(7, "тест/1"), (0, "")) == [7, "тест/1"]
    assert read_page_values("", (0, "first")) == [0, "first"]


@pytest.mark.parametrize(
    "token",
    [
        "a",
        write_page_token("7"),
        write_page_token('{"a": 7}'),
        write_page_values(7),
        write_page_values("7", "a"),
        write_page_values(True, "a"),
        write_page_token('[7, "a\\u0000b"]'),
        write_page_token("7, a"),
    ],
)
def test_a_token_with_another_key_is_refused_by_its_field(token: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        read_page_values(token, (0, ""))
    assert raised.value.reason == "PAGE_TOKEN_INVALID"
    assert [violation.field for violation in raised.value.violations] == ["page_token"]
